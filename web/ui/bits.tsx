import type { ComponentChildren } from "preact";
import type { Problem } from "../../src/console/api.ts";
import { Icon } from "./icons.tsx";

export type Tone = "ok" | "warn" | "bad" | "info" | "plain";

export function Badge({ tone, children }: { readonly tone: Tone; readonly children: ComponentChildren }) {
  return <span class={`badge badge-${tone}`}>{children}</span>;
}

export function Section(props: {
  readonly title: string;
  readonly aside?: ComponentChildren;
  readonly children: ComponentChildren;
}) {
  return (
    <section class="section">
      <header class="section-head">
        <h3>{props.title}</h3>
        {props.aside}
      </header>
      {props.children}
    </section>
  );
}

/** Opens and closes; closed ones cost nothing. */
export function Fold(props: {
  readonly title: ComponentChildren;
  readonly open?: boolean;
  readonly children: ComponentChildren;
}) {
  return (
    <details class="fold" open={props.open ?? false}>
      <summary>{props.title}</summary>
      <div class="fold-body">{props.children}</div>
    </details>
  );
}

export function Facts({ facts }: { readonly facts: readonly (readonly [string, ComponentChildren])[] }) {
  const shown = facts.filter(([, value]) => value !== undefined && value !== "" && value !== null && value !== false);
  return (
    <dl class="facts">
      {shown.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}

export function Figure(props: { readonly label: string; readonly value: ComponentChildren; readonly tone?: Tone }) {
  return (
    <div class={`figure ${props.tone === undefined ? "" : `tone-${props.tone}`}`}>
      <span class="figure-value">{props.value}</span>
      <span class="figure-label">{props.label}</span>
    </div>
  );
}

const SEVERITY_TONES = { error: "bad", warning: "warn", info: "info" } as const;

export function Problems({ problems }: { readonly problems: readonly Problem[] }) {
  if (problems.length === 0) return null;
  return (
    <ul class="problems">
      {problems.map((problem) => (
        <li
          key={`${problem.line} ${problem.field} ${problem.message}`}
          class={`tone-${SEVERITY_TONES[problem.severity]}`}
        >
          <Icon name={problem.severity === "info" ? "info" : "alert"} />
          <span>
            {problem.line !== undefined && <b>line {problem.line}: </b>}
            {problem.message}
            {problem.code !== undefined && <code> {problem.code}</code>}
            {problem.source !== undefined && (
              <small>
                {problem.source.file}:{problem.source.line}
              </small>
            )}
          </span>
        </li>
      ))}
    </ul>
  );
}

/** `spiffe://cluster.local/ns/shop/sa/front`, with the part that tells workloads apart in front. */
export function Identity({ id }: { readonly id: string }) {
  const found = /^spiffe:\/\/([^/]+)\/ns\/([^/]+)\/sa\/([^/]+)$/.exec(id);
  if (found === null) return <code>{id}</code>;
  return (
    <span class="identity" title={id}>
      <Icon name="lock" size={12} /> {found[3]} <small>in {found[2]}</small>
    </span>
  );
}

export interface TabList<Name extends string> {
  readonly label: string;
  readonly tabs: readonly {
    readonly name: Name;
    readonly text: string;
    readonly count?: number;
    readonly tone?: Tone;
  }[];
  readonly current: Name;
  readonly onSelect: (name: Name) => void;
}

/** Arrow keys move between tabs, as screen reader users expect. */
export function Tabs<Name extends string>({ label, tabs, current, onSelect }: TabList<Name>) {
  const move = (event: KeyboardEvent) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (step === 0) return;
    const index = tabs.findIndex((tab) => tab.name === current);
    const next = tabs[(index + step + tabs.length) % tabs.length];
    if (next === undefined) return;
    onSelect(next.name);
    const list = event.currentTarget as HTMLElement;
    (list.children[tabs.indexOf(next)] as HTMLElement | undefined)?.focus();
    event.preventDefault();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab) => (
        <button
          type="button"
          key={tab.name}
          role="tab"
          aria-selected={tab.name === current}
          tabIndex={tab.name === current ? 0 : -1}
          class={tab.name === current ? "on" : ""}
          onClick={() => onSelect(tab.name)}
        >
          {tab.text}
          {tab.count !== undefined && tab.count > 0 && (
            <span class={`count tone-${tab.tone ?? "plain"}`}>{tab.count}</span>
          )}
        </button>
      ))}
    </div>
  );
}
