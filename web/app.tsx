import { useEffect } from "preact/hooks";
import { ChangesView } from "./actions/changes-view.tsx";
import { draft } from "./actions/draft.ts";
import { duration, plural } from "./format.ts";
import { GraphView } from "./graph/graph-view.tsx";
import { TrafficTable } from "./graph/traffic-table.tsx";
import { Inspector } from "./inspector/inspector.tsx";
import { WorkloadsView } from "./inspector/workloads-view.tsx";
import { ObjectsView } from "./objects/objects-view.tsx";
import { RequestsView } from "./requests/requests-view.tsx";
import { actions, connection, meshState, now, session, snapshot, staleMs } from "./state/live.ts";
import { type Theme, theme } from "./state/preferences.ts";
import { togglePause } from "./state/replay.ts";
import { select, show, type View, view } from "./state/selection.ts";
import { Icon, type IconName } from "./ui/icons.tsx";
import { Toasts } from "./ui/toasts.tsx";

const VIEW_NAMES: readonly { readonly name: View; readonly text: string; readonly icon: IconName }[] = [
  { name: "graph", text: "Graph", icon: "graph" },
  { name: "traffic", text: "Traffic", icon: "arrow" },
  { name: "workloads", text: "Workloads", icon: "server" },
  { name: "objects", text: "Objects", icon: "code" },
  { name: "requests", text: "Requests", icon: "list" },
  { name: "changes", text: "Changes", icon: "undo" },
];

export function App() {
  useEffect(() => {
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  const { value: state } = connection;
  if (state.phase === "refused") return <Refused reason={state.reason} />;
  const features = session.value?.features;
  const views = VIEW_NAMES.filter(
    ({ name }) =>
      features === undefined ||
      (name === "objects"
        ? features.objects
        : name === "requests"
          ? features.requests
          : name !== "changes" || features.actions.length > 0),
  );
  const active = actions.value.actions.filter((action) => action.state === "active").length;
  return (
    <div class="app">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <header class="top">
        <div class="brand">
          <img src="icon.svg" alt="" width={26} height={26} />
          <h1>
            {session.value?.name ?? "mesh"} <small>console</small>
          </h1>
        </div>
        <nav class="views" aria-label="Views">
          {views.map(({ name, text, icon }) => (
            <button
              type="button"
              key={name}
              class={view.value === name ? "on" : ""}
              aria-current={view.value === name ? "page" : undefined}
              onClick={() => show(name)}
            >
              <Icon name={icon} />
              <span>{text}</span>
              {name === "changes" && active > 0 && <span class="count">{active}</span>}
            </button>
          ))}
        </nav>
        <Status />
        <ThemeButton />
      </header>
      <Banners />
      <main class="main" id="content" tabIndex={-1}>
        <div class="view">
          <CurrentView />
        </div>
        {view.value !== "objects" && view.value !== "requests" && view.value !== "changes" && <Inspector />}
      </main>
      <Toasts />
    </div>
  );
}

function CurrentView() {
  switch (view.value) {
    case "traffic":
      return <TrafficTable />;
    case "workloads":
      return <WorkloadsView />;
    case "objects":
      return <ObjectsView />;
    case "requests":
      return <RequestsView />;
    case "changes":
      return <ChangesView />;
    default:
      return <GraphView />;
  }
}

/** Slash finds, space stops the picture, Escape closes; letters of text fields stay theirs. */
function onKey(event: KeyboardEvent): void {
  const target = event.target as HTMLElement | null;
  const isTyping = target?.closest("input, textarea, select") !== null;
  if (event.key === "Escape") {
    if (draft.peek() !== undefined) draft.value = undefined;
    else if (isTyping) target?.blur();
    else select({ kind: "none" });
    return;
  }
  if (isTyping || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    show("graph");
    requestAnimationFrame(() => document.getElementById("find")?.focus());
  } else if (event.key === " " && view.peek() === "graph" && target?.closest("button, summary") === null) togglePause();
  else if (/^[1-6]$/.test(event.key)) show(VIEW_NAMES[Number(event.key) - 1]?.name ?? "graph");
  else return;
  event.preventDefault();
}

const CONTROL_PLANE = {
  running: { tone: "ok", text: "control plane running" },
  stopped: { tone: "warn", text: "control plane stopped" },
  away: { tone: "bad", text: "control plane away" },
  unknown: { tone: "plain", text: "control plane unknown" },
} as const;

function Status() {
  const control = CONTROL_PLANE[meshState.value?.controlPlane.phase ?? "unknown"];
  const isLive = connection.value.phase === "open" && staleMs.value === undefined && snapshot.value !== undefined;
  return (
    <div class="status" role="status">
      <span class="status-item">
        <span class={`dot dot-${control.tone}`} />
        {control.text}
      </span>
      <span class="status-item">
        <span class={`dot ${isLive ? "dot-ok pulse" : "dot-bad"}`} />
        {isLive ? "live" : staleMs.value !== undefined ? `${duration(staleMs.value)} old` : "connecting"}
      </span>
    </div>
  );
}

const THEMES: Readonly<Record<Theme, { readonly next: Theme; readonly icon: IconName }>> = {
  system: { next: "dark", icon: "contrast" },
  dark: { next: "light", icon: "moon" },
  light: { next: "system", icon: "sun" },
};

function ThemeButton() {
  const { next, icon } = THEMES[theme.value];
  const text = `Colours: ${theme.value === "system" ? "as the system" : theme.value}; change to ${next}`;
  return (
    <button
      type="button"
      class="icon-button"
      aria-label={text}
      title={text}
      onClick={() => {
        theme.value = next;
      }}
    >
      <Icon name={icon} size={18} />
    </button>
  );
}

function Banners() {
  const state = meshState.value;
  const control = state?.controlPlane;
  const stale = snapshot.value?.stale ?? [];
  return (
    <div class="banners" role="status" aria-live="polite">
      {connection.value.phase === "lost" && (
        <div class="banner banner-bad">
          <Icon name="alert" />
          <span>
            The console does not answer since {duration(now.value - connection.value.sinceAt)}: what you see is old.
            Trying again by itself.
          </span>
        </div>
      )}
      {connection.value.phase === "open" && staleMs.value !== undefined && (
        <div class="banner banner-bad">
          <Icon name="clock" />
          <span>The figures are {duration(staleMs.value)} old: the console sends none.</span>
        </div>
      )}
      {control !== undefined && (control.phase === "stopped" || control.phase === "away") && (
        <div class="banner banner-warn">
          <Icon name="power" />
          <span>
            <b>The control plane is {control.phase}</b>
            {control.sinceAt !== undefined && ` since ${duration(now.value - control.sinceAt)}`}
            {control.reason !== undefined && `: ${control.reason}`}. Traffic goes on: sidecars keep their last
            configuration and certificates. Rules change nothing meanwhile.
          </span>
        </div>
      )}
      {stale.length > 0 && connection.value.phase === "open" && (
        <div class="banner banner-warn">
          <Icon name="clock" />
          <span>
            No figures of {plural(stale.length, "workload")}:{" "}
            {stale
              .map((entry) => `${entry.workload} (${entry.reason})`)
              .slice(0, 3)
              .join(", ")}
          </span>
        </div>
      )}
      {state?.problems.map((problem) => (
        <div key={problem} class="banner banner-bad">
          <Icon name="alert" />
          <span>{problem}</span>
        </div>
      ))}
    </div>
  );
}

function Refused({ reason }: { readonly reason: string }) {
  return (
    <main class="refused">
      <Icon name="lock" size={40} />
      <h1>This page needs its link</h1>
      <p>{reason}</p>
      <p>
        <code>pilot-agent mesh console</code> prints the link with its token. A link is of one run: after a restart
        there is a new one.
      </p>
    </main>
  );
}
