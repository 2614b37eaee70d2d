import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { DetailPart, WorkloadDetail } from "../../src/console/api.ts";
import { Preview } from "../actions/action-form.tsx";
import { draft, prepare } from "../actions/draft.ts";
import { ApiFailure, apiPath, getJson } from "../state/api.ts";
import { meshState, session } from "../state/live.ts";
import { requestFilter, show } from "../state/selection.ts";
import { Badge, Tabs } from "../ui/bits.tsx";
import { Icon } from "../ui/icons.tsx";
import {
  CaptureTab,
  CertificatesTab,
  ClustersTab,
  DnsTab,
  ListenersTab,
  RoutesTab,
  XdsTab,
} from "./workload-config.tsx";
import { LogLevelsTab, LogsTab } from "./workload-logs.tsx";
import { StateTab } from "./workload-state.tsx";

const REFRESH_MS = 3000;

type TabName =
  | "state"
  | "certificates"
  | "xds"
  | "clusters"
  | "listeners"
  | "routes"
  | "dns"
  | "capture"
  | "logs"
  | "levels";

export function WorkloadPanel({ id }: { readonly id: string }) {
  const detail = useSignal<WorkloadDetail | undefined>(undefined);
  const failure = useSignal("");
  const tab = useSignal<TabName>("state");
  useEffect(() => {
    const abort = new AbortController();
    const load = async () => {
      try {
        detail.value = await getJson<WorkloadDetail>(apiPath("workloads", id), abort.signal);
        failure.value = "";
      } catch (thrown) {
        if (!abort.signal.aborted)
          failure.value = thrown instanceof ApiFailure ? thrown.message : "the console does not answer";
      }
    };
    void load();
    const timer = setInterval(() => void load(), REFRESH_MS);
    return () => {
      clearInterval(timer);
      abort.abort();
    };
  }, [id]);
  const known = detail.value;
  // The live summary is newer than the detail: restarts and readiness show at once.
  const summary = meshState.value?.workloads.find((workload) => workload.id === id) ?? known;
  const nacked = known?.xds?.types.filter((type) => type.state === "nacked").length ?? 0;
  const features = session.value?.features;
  return (
    <div class="panel panel-wide">
      <header class="panel-head">
        <p class="kicker">
          {summary?.kind ?? "workload"}
          {summary !== undefined && ` in ${summary.namespace}`}
        </p>
        <h2>
          {summary?.name ?? id} {summary?.version !== undefined && <Badge tone="info">{summary.version}</Badge>}{" "}
          {summary !== undefined && (
            <Badge tone={summary.ready ? "ok" : "bad"}>{summary.ready ? "ready" : "not ready"}</Badge>
          )}
        </h2>
        {summary?.reasons.map((reason) => (
          <p key={reason} class="quiet">
            {reason}
          </p>
        ))}
      </header>
      {failure.value !== "" && (
        <div class="notice notice-bad" role="alert">
          <Icon name="alert" />
          <span>{failure.value}</span>
        </div>
      )}
      <WorkloadActions id={id} />
      <Tabs<TabName>
        label="Parts of the workload"
        current={tab.value}
        onSelect={(name) => {
          tab.value = name;
        }}
        tabs={[
          { name: "state", text: "State" },
          { name: "certificates", text: "Certificates" },
          { name: "xds", text: "xDS", count: nacked, tone: "bad" },
          { name: "clusters", text: "Clusters" },
          { name: "listeners", text: "Listeners" },
          { name: "routes", text: "Routes" },
          { name: "dns", text: "DNS" },
          { name: "capture", text: "Capture" },
          ...(features?.logs === true ? [{ name: "logs" as const, text: "Logs" }] : []),
          ...(features?.logLevels === true ? [{ name: "levels" as const, text: "Log level" }] : []),
        ]}
      />
      <div class="tab-body" role="tabpanel" aria-label={tab.value}>
        {tab.value === "logs" ? (
          <LogsTab id={id} />
        ) : tab.value === "levels" ? (
          <LogLevelsTab id={id} />
        ) : known === undefined ? (
          <p class="quiet">Asking the agent …</p>
        ) : (
          <Part tab={tab.value} detail={known} />
        )}
      </div>
    </div>
  );
}

const PARTS: Readonly<Partial<Record<TabName, DetailPart>>> = {
  certificates: "certificates",
  xds: "xds",
  clusters: "clusters",
  listeners: "listeners",
  routes: "routes",
  dns: "dns",
  capture: "capture",
};

function Part({ tab, detail }: { readonly tab: TabName; readonly detail: WorkloadDetail }) {
  const part = PARTS[tab];
  const missing = part === undefined ? undefined : detail.missing[part];
  if (missing !== undefined)
    return (
      <div class="notice">
        <Icon name="info" />
        <span>{missing}</span>
      </div>
    );
  switch (tab) {
    case "certificates":
      return <CertificatesTab state={detail.certificates} />;
    case "xds":
      return <XdsTab state={detail.xds} />;
    case "clusters":
    case "listeners":
    case "routes":
      return (
        <>
          {detail.missing.origins !== undefined && (
            <p class="quiet">Which objects these come from is not known now: {detail.missing.origins}</p>
          )}
          {tab === "clusters" && <ClustersTab clusters={detail.clusters ?? []} />}
          {tab === "listeners" && <ListenersTab listeners={detail.listeners ?? []} />}
          {tab === "routes" && <RoutesTab routes={detail.routes ?? []} />}
        </>
      );
    case "dns":
      return <DnsTab names={detail.dns ?? []} />;
    case "capture":
      return <CaptureTab rules={detail.capture ?? []} />;
    default:
      return <StateTab detail={detail} />;
  }
}

function WorkloadActions({ id }: { readonly id: string }) {
  const features = session.value?.features;
  const open = draft.value;
  return (
    <div class="workload-actions">
      <div class="button-row">
        {features?.actions.includes("kill-envoy") === true && (
          <button type="button" class="button" onClick={() => prepare({ kind: "kill-envoy", workload: id })}>
            <Icon name="zap" /> Kill Envoy
          </button>
        )}
        {features?.requests === true && (
          <button
            type="button"
            class="button"
            onClick={() => {
              requestFilter.value = { workload: id, direction: "", to: "" };
              show("requests");
            }}
          >
            <Icon name="list" /> Requests
          </button>
        )}
      </div>
      {open?.kind === "kill-envoy" && open.workload === id && (
        <div class="action-body">
          <Preview action={open} />
        </div>
      )}
    </div>
  );
}
