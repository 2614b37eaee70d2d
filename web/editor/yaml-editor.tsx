import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import type { Problem } from "../../src/console/api.ts";
import { type Completion, type CompletionSources, complete } from "./completion.ts";
import { YamlLine } from "./diff-view.tsx";

export interface YamlEditorProps {
  readonly value: string;
  readonly problems: readonly Problem[];
  readonly readOnly: boolean;
  readonly sources: CompletionSources;
  readonly onChange: (text: string) => void;
  readonly onApply: () => void;
}

/**
 * A text area over the same text in colours: cursor, selection, undo and screen readers are the browser's own. Problems stand at the
 * end of their line, as far as there is room, and mark it in the margin.
 */
export function YamlEditor(props: YamlEditorProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const back = useRef<HTMLDivElement>(null);
  const suggestions = useSignal<Completion | undefined>(undefined);
  const chosen = useSignal(0);
  const place = useSignal({ top: 0, left: 0 });
  const lines = props.value.split("\n");
  const sync = () => {
    if (area.current === null || back.current === null) return;
    back.current.style.transform = `translate(${-area.current.scrollLeft}px, ${-area.current.scrollTop}px)`;
  };
  useEffect(sync);

  const suggest = (element: HTMLTextAreaElement, isAsked: boolean) => {
    const { selectionStart, selectionEnd, value } = element;
    const found = selectionStart === selectionEnd ? complete(value, selectionStart, props.sources) : undefined;
    const isTyping = found !== undefined && found.from < selectionStart;
    suggestions.value = isAsked || isTyping ? found : undefined;
    chosen.value = 0;
    const before = value.slice(0, found?.from ?? selectionStart).split("\n");
    place.value = {
      top: before.length * LINE_HEIGHT - element.scrollTop + PADDING,
      left: GUTTER + (before.at(-1)?.length ?? 0) * characterWidth(element) - element.scrollLeft,
    };
  };
  const accept = (index: number) => {
    const element = area.current;
    const found = suggestions.value;
    const suggestion = found?.suggestions[index];
    if (element === null || found === undefined || suggestion === undefined) return;
    insert(element, suggestion.insert, found.from);
    suggestions.value = undefined;
  };
  const onKeyDown = (event: KeyboardEvent) => {
    const element = area.current;
    if (element === null) return;
    const found = suggestions.value;
    if ((event.ctrlKey || event.metaKey) && event.key === "Enter") props.onApply();
    else if (event.ctrlKey && event.key === " ") suggest(element, true);
    else if (found !== undefined && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
      const count = found.suggestions.length;
      chosen.value = (chosen.value + (event.key === "ArrowDown" ? 1 : count - 1)) % count;
    } else if (found !== undefined && (event.key === "Enter" || event.key === "Tab")) accept(chosen.value);
    else if (found !== undefined && event.key === "Escape") suggestions.value = undefined;
    else if (event.key === "Enter" && !event.shiftKey && !props.readOnly) insert(element, `\n${nextIndent(element)}`);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };

  return (
    <div class="editor">
      <div class="editor-frame">
        <div class="editor-back" ref={back} aria-hidden="true">
          {lines.map((line, index) => {
            const own = props.problems.filter((problem) => problem.line === index + 1);
            const worst = own.some((problem) => problem.severity === "error") ? "error" : own[0]?.severity;
            return (
              <div
                key={index}
                class={`editor-line ${worst === undefined ? "" : `line-${worst}`}`}
                data-line={index + 1}
              >
                <span class="editor-number">{index + 1}</span>
                <span class="editor-text">
                  <YamlLine text={line} />
                </span>
                {own.length > 0 && (
                  <span class="editor-message">{own.map((problem) => problem.message).join(" · ")}</span>
                )}
              </div>
            );
          })}
        </div>
        <textarea
          ref={area}
          class="editor-area"
          aria-label="YAML"
          aria-describedby="editor-help"
          aria-invalid={props.problems.some((problem) => problem.severity === "error")}
          spellcheck={false}
          autocomplete="off"
          autocapitalize="off"
          wrap="off"
          readOnly={props.readOnly}
          value={props.value}
          onInput={(event) => {
            props.onChange(event.currentTarget.value);
            suggest(event.currentTarget, false);
          }}
          onScroll={sync}
          onKeyDown={onKeyDown}
          onBlur={() => {
            suggestions.value = undefined;
          }}
        />
        {suggestions.value !== undefined && (
          <Suggestions found={suggestions.value} chosen={chosen.value} place={place.value} onAccept={accept} />
        )}
      </div>
      <p id="editor-help" class="editor-help quiet">
        Ctrl-Space completes, Ctrl-Enter applies, Tab moves on
      </p>
    </div>
  );
}

const LINE_HEIGHT = 20;
const PADDING = 10;
const GUTTER = 52;

let measured: number | undefined;

function characterWidth(element: HTMLElement): number {
  if (measured === undefined) {
    const context = document.createElement("canvas").getContext("2d");
    if (context === null) return 8;
    context.font = getComputedStyle(element).font;
    measured = context.measureText("m").width;
  }
  return measured;
}

/** As if typed, so that the browser's undo takes it back. */
function insert(element: HTMLTextAreaElement, text: string, from = element.selectionStart): void {
  element.focus();
  element.setSelectionRange(from, element.selectionEnd);
  // The only way into the browser's own undo list; setRangeText has none.
  if (!document.execCommand("insertText", false, text)) {
    element.setRangeText(text, from, element.selectionEnd, "end");
    element.dispatchEvent(new Event("input", { bubbles: true }));
  }
}

/** A new line stands as deep as the last one, one step deeper after a key that opens something. */
function nextIndent(element: HTMLTextAreaElement): string {
  const line = element.value.slice(0, element.selectionStart).split("\n").at(-1) ?? "";
  const indent = /^\s*(?:- +)?/.exec(line)?.[0].replace(/-/g, " ") ?? "";
  return /:\s*$/.test(line) ? `${indent}  ` : indent;
}

function Suggestions(props: {
  readonly found: Completion;
  readonly chosen: number;
  readonly place: { readonly top: number; readonly left: number };
  readonly onAccept: (index: number) => void;
}) {
  const { found, chosen } = props;
  const current = found.suggestions[chosen];
  return (
    <div
      class="suggestions"
      style={{ top: `${props.place.top}px`, left: `${props.place.left}px` }}
      role="listbox"
      aria-label="Completions"
    >
      {found.suggestions.map((suggestion, index) => (
        <div
          key={suggestion.label}
          role="option"
          tabIndex={-1}
          aria-selected={index === chosen}
          class={index === chosen ? "on" : ""}
          onPointerDown={(event) => {
            event.preventDefault();
            props.onAccept(index);
          }}
        >
          <span>{suggestion.label}</span>
          <small>{suggestion.detail}</small>
        </div>
      ))}
      {current !== undefined && current.description !== "" && <p class="suggestion-text">{current.description}</p>}
    </div>
  );
}
