import type { ObjectDifference } from "../../src/console/api.ts";
import { highlightLine } from "./highlight.ts";
import { hunks, lineDiff } from "./line-diff.ts";

/** What is written before and after, object by object. */
export function Differences({ changes }: { readonly changes: readonly ObjectDifference[] }) {
  return (
    <div class="differences">
      {changes.map((change) => (
        <figure key={`${change.kind} ${change.namespace} ${change.name}`} class="difference">
          <figcaption>
            <span class={`change change-${verb(change)}`}>{verb(change)}</span>
            <b>{change.kind}</b> {change.namespace}/{change.name}
          </figcaption>
          <DiffLines before={change.before ?? ""} after={change.after ?? ""} />
        </figure>
      ))}
    </div>
  );
}

function verb({ before, after }: ObjectDifference): string {
  return before === null ? "new" : after === null ? "deleted" : "changed";
}

const MARKS = { same: " ", added: "+", removed: "−" } as const;

export function DiffLines({ before, after }: { readonly before: string; readonly after: string }) {
  const lines = hunks(lineDiff(before, after), 3);
  return (
    <pre class="diff" tabIndex={0}>
      {lines.map((line) =>
        "gap" in line ? (
          <span key={`gap ${lines.indexOf(line)}`} class="diff-gap">
            … {line.gap} unchanged
          </span>
        ) : (
          <span key={lines.indexOf(line)} class={`diff-line diff-${line.kind}`}>
            <span class="diff-mark">{MARKS[line.kind]}</span>
            <YamlLine text={line.text} />
          </span>
        ),
      )}
    </pre>
  );
}

export function YamlLine({ text }: { readonly text: string }) {
  let at = 0;
  return (
    <>
      {highlightLine(text).map((token) => {
        const key = at;
        at += token.text.length;
        return token.kind === "plain" ? (
          token.text
        ) : (
          <span key={key} class={`y-${token.kind}`}>
            {token.text}
          </span>
        );
      })}
    </>
  );
}
