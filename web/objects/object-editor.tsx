import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type {
  JsonSchema,
  ObjectChange,
  ObjectDetail,
  ObjectSchema,
  Problem,
  SchemaList,
  Validation,
} from "../../src/console/api.ts";
import type { CompletionSources } from "../editor/completion.ts";
import { DiffLines } from "../editor/diff-view.tsx";
import { YamlEditor } from "../editor/yaml-editor.tsx";
import { yamlPosition } from "../editor/yaml-position.ts";
import { ApiFailure, apiPath, deleteJson, getJson, postJson } from "../state/api.ts";
import { session } from "../state/live.ts";
import { Badge, Problems, Tabs } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";
import { announce } from "../ui/toasts.tsx";
import { type ObjectName, opened } from "./open-object.ts";

const SETTLE_MS = 300;

const kinds: SchemaList["kinds"][number][] = [];
const schemas = new Map<string, JsonSchema | "asked">();

/** Schemas are fetched when a document of the kind is looked at, once. */
const sources: CompletionSources = {
  get kinds() {
    return kinds;
  },
  schemaOf: (kind) => {
    const known = schemas.get(kind);
    return known === "asked" ? undefined : known;
  },
};

async function loadSchema(kind: string): Promise<void> {
  if (kinds.length === 0) kinds.push(...(await getJson<SchemaList>("/api/schemas")).kinds);
  if (kind === "" || schemas.has(kind) || !kinds.some((known) => known.kind === kind)) return;
  schemas.set(kind, "asked");
  schemas.set(kind, (await getJson<ObjectSchema>(apiPath("schemas", kind))).schema);
}

export function ObjectEditor({ name }: { readonly name: ObjectName | "new" }) {
  const detail = useSignal<ObjectDetail | undefined>(undefined);
  const original = useSignal("");
  const text = useSignal(name === "new" ? template() : "");
  const problems = useSignal<readonly Problem[]>([]);
  const failure = useSignal("");
  const tab = useSignal<"edit" | "difference">("edit");
  const isDirty = text.value !== original.value;
  const canEdit = session.value?.features.editing === true && (name === "new" || detail.value?.editable === true);

  useEffect(() => {
    if (name === "new") return;
    const abort = new AbortController();
    getJson<ObjectDetail>(apiPath("objects", name.kind, name.namespace, name.name), abort.signal).then(
      (found) => {
        detail.value = found;
        original.value = found.yaml;
        text.value = found.yaml;
        problems.value = found.problems;
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) failure.value = thrown instanceof Error ? thrown.message : String(thrown);
      },
    );
    return () => abort.abort();
  }, []);

  const kind = yamlPosition(text.value, 0).kind;
  useEffect(() => {
    // Without a schema the text can still be written, and the server still judges it.
    loadSchema(kind).catch(() => schemas.delete(kind));
  }, [kind]);

  useEffect(() => {
    if (!isDirty || text.value.trim() === "") return;
    const abort = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const answer = await postJson<Validation>("/api/objects/validate", { yaml: text.value }, abort.signal);
        problems.value = answer.problems;
        failure.value = "";
      } catch (thrown) {
        if (!abort.signal.aborted) failure.value = thrown instanceof Error ? thrown.message : String(thrown);
      }
    }, SETTLE_MS);
    return () => {
      clearTimeout(timer);
      abort.abort();
    };
  }, [text.value]);

  const finish = (change: ObjectChange, done: string) => {
    const [first] = change.changes;
    announce({ tone: "ok", text: `${done} ${first === undefined ? "" : `${first.kind} ${first.name}`}` });
    problems.value = change.problems;
    failure.value = "";
  };
  const refuse = (thrown: unknown) => {
    failure.value = thrown instanceof Error ? thrown.message : String(thrown);
    if (thrown instanceof ApiFailure && thrown.problems.length > 0) problems.value = thrown.problems;
    tab.value = "edit";
  };
  const apply = async () => {
    if (!canEdit) return;
    try {
      finish(await postJson<ObjectChange>("/api/objects", { yaml: text.value }), "Applied");
      original.value = text.value;
    } catch (thrown) {
      refuse(thrown);
    }
  };
  const remove = async () => {
    if (name === "new") return;
    try {
      finish(await deleteJson<ObjectChange>(apiPath("objects", name.kind, name.namespace, name.name)), "Deleted");
      opened.value = undefined;
    } catch (thrown) {
      refuse(thrown);
    }
  };

  const elsewhere = problems.value.filter((problem) => problem.line === undefined);
  return (
    <div class="object-editor">
      <header class="page-head">
        <button
          type="button"
          class="icon-button narrow-only"
          aria-label="Back to the list"
          onClick={() => {
            opened.value = undefined;
          }}
        >
          <Icon name="back" />
        </button>
        <h2>{name === "new" ? "New object" : `${name.kind} ${name.name}`}</h2>
        {detail.value?.action !== undefined && <Badge tone="info">written by an action</Badge>}
        {!canEdit && name !== "new" && detail.value !== undefined && <Badge tone="plain">read only</Badge>}
        <span class="toolbar-gap" />
        {canEdit && (
          <div class="button-row">
            <button type="button" class="button primary" disabled={!isDirty} onClick={() => void apply()}>
              <Icon name="check" /> Apply
            </button>
            <button
              type="button"
              class="button"
              disabled={!isDirty}
              onClick={() => {
                text.value = original.value;
              }}
            >
              <Icon name="undo" /> Revert
            </button>
            {name !== "new" && detail.value?.origin !== "file" && detail.value?.origin !== "generated" && (
              <button type="button" class="button danger" onClick={() => void remove()}>
                {detail.value?.overrides === true ? "Back to the file's" : "Delete"}
              </button>
            )}
          </div>
        )}
      </header>
      {detail.value?.origin === "file" && canEdit && (
        <p class="quiet">
          Of {detail.value.source === undefined ? "a file" : `${detail.value.source.file}:${detail.value.source.line}`},
          which stays as it is: what is applied here stands above it.
        </p>
      )}
      <Tabs
        label="Text or difference"
        current={tab.value}
        onSelect={(next) => {
          tab.value = next;
        }}
        tabs={[
          { name: "edit", text: "YAML", count: problems.value.length, tone: "bad" },
          { name: "difference", text: "Difference" },
        ]}
      />
      {failure.value !== "" && (
        <div class="notice notice-bad" role="alert">
          <Icon name="alert" />
          <span>{failure.value}</span>
        </div>
      )}
      {tab.value === "edit" ? (
        <YamlEditor
          value={text.value}
          problems={problems.value}
          readOnly={!canEdit}
          sources={sources}
          onChange={(next) => {
            text.value = next;
          }}
          onApply={() => void apply()}
        />
      ) : isDirty ? (
        <DiffLines before={original.value} after={text.value} />
      ) : (
        <p class="empty">Nothing was changed.</p>
      )}
      <div class="editor-problems" role="status" aria-live="polite">
        <Problems problems={[...problems.value.filter((problem) => problem.line !== undefined), ...elsewhere]} />
      </div>
    </div>
  );
}

function template(): string {
  const namespace = session.peek()?.namespace ?? "default";
  return `apiVersion: networking.istio.io/v1\nkind: VirtualService\nmetadata:\n  name: example\n  namespace: ${namespace}\nspec:\n  hosts: [example]\n  http:\n    - route:\n        - destination: {host: example}\n`;
}
