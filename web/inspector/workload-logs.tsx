import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { LogEvents, LogLevels } from "../../src/console/api.ts";
import { apiPath, getJson, postJson, subscribe } from "../state/api.ts";
import { Icon } from "../ui/icons.tsx";

const KEPT_LINES = 2000;

/** The log as it is written; stands still while the reader has scrolled up. */
export function LogsTab({ id }: { readonly id: string }) {
  const part = useSignal<"app" | "agent">("agent");
  const lines = useSignal<readonly string[]>([]);
  const dropped = useSignal(0);
  const wanted = useSignal("");
  const follows = useRef(true);
  const box = useRef<HTMLPreElement>(null);
  useEffect(() => {
    lines.value = [];
    dropped.value = 0;
    const subscription = subscribe<LogEvents>(`${apiPath("workloads", id)}/logs?part=${part.value}&tail=200`, {
      lines: (batch) => {
        lines.value = [...lines.value, ...batch.lines].slice(-KEPT_LINES);
        dropped.value += batch.dropped;
      },
    });
    return () => subscription.close();
  }, [id, part.value]);
  useEffect(() => {
    if (follows.current && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  });
  const shown = lines.value.filter((line) => line.toLowerCase().includes(wanted.value.toLowerCase()));
  return (
    <div class="logs">
      <div class="button-row">
        <select
          aria-label="Log of"
          value={part.value}
          onChange={(event) => {
            part.value = event.currentTarget.value === "app" ? "app" : "agent";
          }}
        >
          <option value="agent">agent and Envoy</option>
          <option value="app">application</option>
        </select>
        <input
          type="search"
          class="filter"
          aria-label="Filter lines"
          placeholder="Filter lines"
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
      </div>
      {dropped.value > 0 && <p class="quiet">{dropped.value} lines were left out: they came too fast.</p>}
      <pre
        class="log-lines"
        ref={box}
        tabIndex={0}
        onScroll={(event) => {
          const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
          follows.current = scrollHeight - scrollTop - clientHeight < 24;
        }}
      >
        {shown.length === 0 ? "No lines yet." : shown.map((line, index) => <LogLine key={index} line={line} />)}
      </pre>
    </div>
  );
}

function LogLine({ line }: { readonly line: string }) {
  const tone = /\b(error|critical|fatal)\b/i.test(line) ? "tone-bad" : /\bwarn(ing)?\b/i.test(line) ? "tone-warn" : "";
  return <span class={`log-line ${tone}`}>{`${line}\n`}</span>;
}

export function LogLevelsTab({ id }: { readonly id: string }) {
  const levels = useSignal<LogLevels | undefined>(undefined);
  const failure = useSignal("");
  const run = async (question: Promise<LogLevels>) => {
    try {
      levels.value = await question;
      failure.value = "";
    } catch (thrown) {
      failure.value = thrown instanceof Error ? thrown.message : String(thrown);
    }
  };
  const path = `${apiPath("workloads", id)}/log-levels`;
  useEffect(() => {
    void run(getJson<LogLevels>(path));
  }, [id]);
  const known = levels.value;
  return (
    <>
      {failure.value !== "" && (
        <div class="notice notice-bad" role="alert">
          <Icon name="alert" />
          <span>{failure.value}</span>
        </div>
      )}
      {known !== undefined && (
        <>
          <LevelSelect
            name="all of Envoy's loggers"
            value=""
            known={known.known}
            onChange={(level) => void run(postJson<LogLevels>(path, { level }))}
          />
          <div class="levels">
            {Object.entries(known.levels).map(([logger, value]) => (
              <LevelSelect
                key={logger}
                name={logger}
                value={value}
                known={known.known}
                onChange={(level) => void run(postJson<LogLevels>(path, { logger, level }))}
              />
            ))}
          </div>
        </>
      )}
    </>
  );
}

interface LevelProps {
  readonly name: string;
  readonly value: string;
  readonly known: readonly string[];
  readonly onChange: (level: string) => void;
}

function LevelSelect({ name, value, known, onChange }: LevelProps) {
  return (
    <label class="field level">
      <span>{name}</span>
      <select
        value={value}
        onChange={(event) => event.currentTarget.value !== "" && onChange(event.currentTarget.value)}
      >
        {value === "" && <option value="">choose</option>}
        {known.map((level) => (
          <option key={level} value={level}>
            {level}
          </option>
        ))}
      </select>
    </label>
  );
}
