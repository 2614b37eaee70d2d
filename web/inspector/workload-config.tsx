import { useSignal } from "@preact/signals";
import type {
  Certificate,
  CertificateError,
  CertificateState,
  ClusterState,
  DnsName,
  ListenerState,
  Origin,
  RouteState,
  XdsState,
  XdsTypeState,
} from "../../src/console/api.ts";
import { ago, duration, plural } from "../format.ts";
import { openObject } from "../objects/open-object.ts";
import { now } from "../state/live.ts";
import { Badge, Facts, Fold, Identity, Section, type Tone } from "../ui/bits.tsx";

export function CertificatesTab({ state }: { readonly state: CertificateState | undefined }) {
  if (state === undefined) return <p class="quiet">No certificate.</p>;
  const [leaf] = state.chain;
  return (
    <>
      {leaf !== undefined && <Validity certificate={leaf} rotationAt={state.rotationAt} />}
      {state.phase !== "available" && (
        <Badge tone={state.phase === "initializing" ? "warn" : "bad"}>{state.phase}</Badge>
      )}
      {state.errors.length > 0 && (
        <Section title="Last errors">
          <ul class="plain-list">
            {state.errors.map((error) => (
              <li key={`${error.sinceAt} ${error.message}`}>
                <Badge tone={error.isCurrent ? "bad" : "plain"}>{error.isCurrent ? "failing" : "over"}</Badge>{" "}
                {error.message} <span class="quiet">{errorTime(error, now.value)}</span>
              </li>
            ))}
          </ul>
        </Section>
      )}
      <Section title="Chain">
        {state.chain.map((certificate, index) => (
          <CertificateFold
            key={certificate.fingerprint}
            certificate={certificate}
            title={index === 0 ? "Workload" : "Intermediate"}
          />
        ))}
        {state.roots.map((certificate) => (
          <CertificateFold key={certificate.fingerprint} certificate={certificate} title="Root" />
        ))}
      </Section>
    </>
  );
}

/** `3 min ago`, `12 times in 9 min, last 20 s ago`. */
function errorTime({ at, sinceAt, count }: CertificateError, nowAt: number): string {
  return count === 1 ? ago(at, nowAt) : `${count} times in ${duration(at - sinceAt)}, last ${ago(at, nowAt)}`;
}

/** How much of the certificate's life is over, and when the next one is asked for. */
function Validity(props: { readonly certificate: Certificate; readonly rotationAt: number | undefined }) {
  const { notBeforeAt, notAfterAt } = props.certificate;
  const life = Math.max(1, notAfterAt - notBeforeAt);
  const place = (at: number) => `${Math.max(0, Math.min(100, ((at - notBeforeAt) / life) * 100))}%`;
  return (
    <div class="validity">
      <div class="validity-bar">
        <span class="validity-past" style={{ width: place(now.value) }} />
        {props.rotationAt !== undefined && <span class="validity-rotation" style={{ left: place(props.rotationAt) }} />}
      </div>
      <p class="quiet">
        {props.rotationAt !== undefined && <b>rotates in {duration(props.rotationAt - now.value)}</b>} · expires in{" "}
        {duration(notAfterAt - now.value)}
      </p>
    </div>
  );
}

function CertificateFold({ certificate, title }: { readonly certificate: Certificate; readonly title: string }) {
  return (
    <Fold title={`${title}: ${certificate.names[0] ?? certificate.subject}`}>
      <Facts
        facts={[
          [
            "Names",
            certificate.names.map((name) => (
              <div key={name}>{name.startsWith("spiffe:") ? <Identity id={name} /> : name}</div>
            )),
          ],
          ["Subject", certificate.subject],
          ["Issuer", certificate.issuer],
          [
            "Valid",
            `${new Date(certificate.notBeforeAt).toLocaleString()} to ${new Date(certificate.notAfterAt).toLocaleString()}`,
          ],
          ["Serial", <code key="s">{certificate.serial}</code>],
          ["SHA-256", <code key="f">{certificate.fingerprint}</code>],
        ]}
      />
    </Fold>
  );
}

const XDS_TONES: Readonly<Record<XdsTypeState["state"], Tone>> = {
  acked: "ok",
  nacked: "bad",
  sent: "warn",
  none: "plain",
};
const XDS_WORDS = { acked: "ACK", nacked: "NACK", sent: "sent", none: "none" } as const;

export function XdsTab({ state }: { readonly state: XdsState | undefined }) {
  if (state === undefined) return <p class="quiet">No stream.</p>;
  return (
    <>
      <Facts
        facts={[
          [
            "Control plane",
            <Badge key="c" tone={state.connected ? "ok" : "bad"}>
              {state.connected ? "connected" : "away"}
            </Badge>,
          ],
          ["Address", state.upstream],
          ["Connected", state.connectedAt === undefined ? undefined : ago(state.connectedAt, now.value)],
          ["Last error", state.lastError],
        ]}
      />
      <table class="table">
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">State</th>
            <th scope="col">Version</th>
            <th scope="col">Resources</th>
            <th scope="col">Age</th>
          </tr>
        </thead>
        <tbody>
          {state.types.map((type) => (
            <tr key={type.typeUrl}>
              <th scope="row" title={type.typeUrl}>
                {type.type}
              </th>
              <td>
                <Badge tone={XDS_TONES[type.state]}>{XDS_WORDS[type.state]}</Badge>
                {type.nackText !== undefined && <p class="tone-bad">{type.nackText}</p>}
              </td>
              <td>
                <code class="short" title={type.version}>
                  {type.version ?? "–"}
                </code>
              </td>
              <td>{type.resources ?? "–"}</td>
              <td>{type.changedAt === undefined ? "–" : ago(type.changedAt, now.value)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** A list that is searched by typing; long ones are cut off with a word about it. */
function Searched<T>(props: {
  readonly items: readonly T[];
  readonly label: string;
  readonly text: (item: T) => string;
  readonly render: (item: T) => preact.ComponentChildren;
}) {
  const wanted = useSignal("");
  const found = props.items.filter((item) => props.text(item).toLowerCase().includes(wanted.value.toLowerCase()));
  const shown = found.slice(0, 200);
  return (
    <>
      {props.items.length > 8 && (
        <input
          type="search"
          class="filter"
          aria-label={`Filter ${props.label}`}
          placeholder={`Filter ${plural(props.items.length, props.label.replace(/s$/, ""), props.label)}`}
          value={wanted.value}
          onInput={(event) => {
            wanted.value = event.currentTarget.value;
          }}
        />
      )}
      {shown.map(props.render)}
      {found.length > shown.length && <p class="quiet">{found.length - shown.length} more: filter to see them.</p>}
      {found.length === 0 && <p class="quiet">None.</p>}
    </>
  );
}

/** The objects that something was made from; those of files and the control plane open in the editor. */
function Origins({ origins }: { readonly origins: readonly Origin[] }) {
  return origins.map((origin) => (
    <span class="origin" key={`${origin.kind} ${origin.namespace} ${origin.name}`}>
      from <OriginName origin={origin} />
      {origin.overruledBy !== undefined && <span class="tone-warn"> overruled by {origin.overruledBy}</span>}
    </span>
  ));
}

function OriginName({ origin }: { readonly origin: Origin }) {
  const { kind, namespace, name, source, cluster, resourceVersion } = origin;
  const inCluster =
    cluster === undefined ? "" : ` (cluster ${cluster}${resourceVersion ? `, version ${resourceVersion}` : ""})`;
  const where = source === undefined ? inCluster : ` (${source.file}:${source.line})`;
  const text = `${kind} ${namespace === "" ? "" : `${namespace}/`}${name}${where}`;
  if (!origin.isListed) return text;
  return (
    <button type="button" class="link" onClick={() => openObject(origin)}>
      {text}
    </button>
  );
}

export function ClustersTab({ clusters }: { readonly clusters: readonly ClusterState[] }) {
  return (
    <Searched
      items={clusters}
      label="clusters"
      text={(cluster) => `${cluster.label} ${cluster.name}`}
      render={(cluster) => {
        const healthy = cluster.endpoints.filter((endpoint) => endpoint.isHealthy).length;
        return (
          <Fold
            key={cluster.name}
            title={
              <span class="fold-title">
                <span>{cluster.label}</span>
                <Badge tone={healthy === cluster.endpoints.length ? "plain" : "bad"}>
                  {healthy}/{cluster.endpoints.length}
                </Badge>
              </span>
            }
          >
            <p class="quiet">
              <code>{cluster.name}</code> {cluster.type}
            </p>
            <Origins origins={cluster.origins} />
            {cluster.endpoints.length > 0 && (
              <table class="table">
                <thead>
                  <tr>
                    <th scope="col">Endpoint</th>
                    <th scope="col">Health</th>
                    <th scope="col">Requests</th>
                    <th scope="col">Errors</th>
                    <th scope="col">Open</th>
                  </tr>
                </thead>
                <tbody>
                  {cluster.endpoints.map((endpoint) => (
                    <tr key={endpoint.address}>
                      <th scope="row">
                        {endpoint.address}
                        <Origins origins={endpoint.origins} />
                      </th>
                      <td>
                        <Badge tone={endpoint.isHealthy ? "ok" : "bad"}>{endpoint.health}</Badge>
                      </td>
                      <td>{endpoint.requests}</td>
                      <td>{endpoint.errors}</td>
                      <td>{endpoint.openConnections}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            )}
          </Fold>
        );
      }}
    />
  );
}

export function ListenersTab({ listeners }: { readonly listeners: readonly ListenerState[] }) {
  return (
    <Searched
      items={listeners}
      label="listeners"
      text={(listener) => `${listener.name} ${listener.address} ${listener.chains.join(" ")}`}
      render={(listener) => (
        <Fold
          key={listener.name}
          title={
            <span class="fold-title">
              <span>{listener.address}</span>
              <span class="quiet">{listener.direction}</span>
            </span>
          }
        >
          <p class="quiet">
            <code>{listener.name}</code>
          </p>
          {listener.error !== undefined && <p class="tone-bad">{listener.error}</p>}
          <Origins origins={listener.origins} />
          <ol class="lines">
            {listener.chains.map((chain) => (
              <li key={chain}>{chain}</li>
            ))}
          </ol>
          {listener.parts.map((part) => (
            <p key={part.text}>
              {part.text} <Origins origins={part.origins} />
            </p>
          ))}
        </Fold>
      )}
    />
  );
}

export function RoutesTab({ routes }: { readonly routes: readonly RouteState[] }) {
  const hosts = routes.flatMap((route) => route.hosts.map((host) => ({ route: route.name, host })));
  return (
    <Searched
      items={hosts}
      label="hosts"
      text={({ route, host }) => `${route} ${host.name} ${host.domains.join(" ")}`}
      render={({ route, host }) => (
        <Fold
          key={`${route} ${host.name}`}
          title={
            <span class="fold-title">
              <span>{host.name}</span>
              <span class="quiet">{route}</span>
            </span>
          }
        >
          <p class="quiet">{host.domains.join(", ")}</p>
          <Origins origins={host.origins} />
          <ol class="lines">
            {host.rules.map((rule) => (
              <li key={rule.text}>
                {rule.text} <Origins origins={rule.origins} />
              </li>
            ))}
          </ol>
        </Fold>
      )}
    />
  );
}

export function DnsTab({ names }: { readonly names: readonly DnsName[] }) {
  return (
    <Searched
      items={names}
      label="names"
      text={(entry) => `${entry.name} ${entry.addresses.join(" ")}`}
      render={(entry) => (
        <div key={entry.name} class="pair">
          <span>{entry.name}</span>
          <code>{entry.addresses.join(", ")}</code>
        </div>
      )}
    />
  );
}

export function CaptureTab({ rules }: { readonly rules: readonly string[] }) {
  if (rules.length === 0)
    return <p class="quiet">Nothing is captured: the program is given the sidecar's addresses instead.</p>;
  return (
    <ol class="lines">
      {rules.map((rule) => (
        <li key={rule}>{rule}</li>
      ))}
    </ol>
  );
}
