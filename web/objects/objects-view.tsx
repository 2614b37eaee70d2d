import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { ObjectList, ObjectSummary } from "../../src/console/api.ts";
import { plural } from "../format.ts";
import { getJson } from "../state/api.ts";
import { objectsRevision, session } from "../state/live.ts";
import { Problems } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";
import { ObjectEditor } from "./object-editor.tsx";
import { opened } from "./open-object.ts";

const ORIGINS: Readonly<Record<ObjectSummary["origin"], string>> = {
  generated: "made by the mesh",
  file: "file",
  applied: "applied",
  cluster: "cluster",
};

export function ObjectsView() {
  const list = useSignal<ObjectList | undefined>(undefined);
  const failure = useSignal("");
  const wanted = useSignal("");
  const revision = objectsRevision.value;
  useEffect(() => {
    const abort = new AbortController();
    getJson<ObjectList>("/api/objects", abort.signal).then(
      (objects) => {
        list.value = objects;
        failure.value = "";
      },
      (thrown: unknown) => {
        if (!abort.signal.aborted) failure.value = thrown instanceof Error ? thrown.message : String(thrown);
      },
    );
    return () => abort.abort();
  }, [revision]);
  const objects = (list.value?.objects ?? []).filter((object) =>
    `${object.kind} ${object.namespace} ${object.name}`.toLowerCase().includes(wanted.value.toLowerCase()),
  );
  const kinds = [...new Set(objects.map((object) => object.kind))].sort();
  return (
    <div class={`objects ${opened.value === undefined ? "" : "has-open"}`}>
      <section class="object-list" aria-label="Objects of the mesh">
        <header class="page-head">
          <h2>Objects</h2>
          {session.value?.features.editing === true && (
            <button
              type="button"
              class="button small"
              onClick={() => {
                opened.value = "new";
              }}
            >
              <Icon name="plus" /> New
            </button>
          )}
        </header>
        <input
          type="search"
          class="filter"
          aria-label="Filter objects"
          placeholder={`Filter ${plural(list.value?.objects.length ?? 0, "object")}`}
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
        {failure.value !== "" && <p class="notice notice-bad">{failure.value}</p>}
        <Problems problems={list.value?.problems ?? []} />
        {kinds.map((kind) => (
          <section key={kind} class="object-group">
            <h3>{kind}</h3>
            <ul>
              {objects
                .filter((object) => object.kind === kind)
                .map((object) => (
                  <li key={`${object.namespace}/${object.name}`}>
                    <ObjectItem object={object} />
                  </li>
                ))}
            </ul>
          </section>
        ))}
        {list.value !== undefined && objects.length === 0 && <p class="empty">No objects.</p>}
      </section>
      <section class="object-pane" aria-label="Object">
        {opened.value === undefined ? (
          <div class="empty">
            <Icon name="code" size={36} />
            <p>Choose an object to read and change it as YAML.</p>
          </div>
        ) : (
          <ObjectEditor
            key={opened.value === "new" ? "new" : `${opened.value.kind} ${opened.value.namespace} ${opened.value.name}`}
            name={opened.value}
          />
        )}
      </section>
    </div>
  );
}

function ObjectItem({ object }: { readonly object: ObjectSummary }) {
  const { kind, namespace, name } = object;
  const open = opened.value;
  const isOpen = typeof open === "object" && open.kind === kind && open.namespace === namespace && open.name === name;
  const errors = object.problems.filter((problem) => problem.severity === "error").length;
  const others = object.problems.length - errors;
  return (
    <button
      type="button"
      class={`object-item ${isOpen ? "on" : ""}`}
      aria-current={isOpen}
      onClick={() => {
        opened.value = { kind, namespace, name };
      }}
    >
      <span class="object-name">
        {name} <small>{namespace}</small>
      </span>
      {errors > 0 && <span class="count tone-bad">{plural(errors, "error")}</span>}
      {others > 0 && <span class="count tone-warn">{plural(others, "warning")}</span>}
      <small class="object-origin">
        {object.overrides ? "applied above a file" : ORIGINS[object.origin]}
        {object.source !== undefined && ` ${object.source.file.split("/").at(-1)}:${object.source.line}`}
      </small>
    </button>
  );
}
