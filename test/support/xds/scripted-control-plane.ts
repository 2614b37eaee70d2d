import { LISTENER_TYPE, SECRET_TYPE } from "../../../src/xds/type-urls.ts";
import { createEnvoyMessages } from "./envoy-messages.ts";
import { startFakeXdsServer } from "./fake-xds-server.ts";
import { createResourceScript, type ResourceScript, type ScriptedRequest } from "./resource-script.ts";

const TYPES = { lds: LISTENER_TYPE, sds: SECRET_TYPE } as const;

export interface ControlPlaneSockets {
  /** Where Envoy looks for its configuration: `<configPath>/XDS`. */
  readonly xdsSocket: string;
  /** Where Envoy looks for its certificates. */
  readonly sdsSocket: string;
}

export interface ScriptedControlPlaneOptions extends ControlPlaneSockets {
  /** Envoy's proto JSON by type. What is absent is answered with nothing. */
  readonly resources: Partial<Record<keyof typeof TYPES, readonly object[]>>;
}

export interface ScriptedControlPlane extends AsyncDisposable {
  readonly requests: readonly ScriptedRequest[];
  /** Replaces the resources of a type and sends them to every stream that subscribes to it. */
  set(type: keyof typeof TYPES, resources: readonly object[]): void;
}

/** A certificate with its key under the name Envoy asks for (`default`). */
export function certificateSecret(name: string, certificate: { readonly cert: string; readonly key: string }): object {
  return {
    name,
    tls_certificate: {
      certificate_chain: { inline_string: certificate.cert },
      private_key: { inline_string: certificate.key },
    },
  };
}

/** A trust anchor under the name Envoy asks for (`ROOTCA`). */
export function trustSecret(name: string, rootPem: string): object {
  return { name, validation_context: { trusted_ca: { inline_string: rootPem } } };
}

/** ADS and SDS on unix sockets with the resources of the test: enough for Envoy to become LIVE. */
export async function startScriptedControlPlane(options: ScriptedControlPlaneOptions): Promise<ScriptedControlPlane> {
  const { packAny } = createEnvoyMessages();
  const resources = new Map<keyof typeof TYPES, readonly object[]>();
  for (const type of ["lds", "sds"] as const) resources.set(type, options.resources[type] ?? []);
  const current = () =>
    [...resources].flatMap(([type, values]) =>
      values.map((value) => {
        const { type_url: typeUrl, value: bytes } = packAny({ "@type": TYPES[type], ...value });
        return { name: String((value as { name?: string }).name), typeUrl, value: bytes };
      }),
    );
  const requests: ScriptedRequest[] = [];
  const scripts = new Set<ResourceScript>();
  const server = await startFakeXdsServer({
    sockets: [options.xdsSocket, options.sdsSocket],
    onStream: ({ kind, send, closed }) => {
      const script = createResourceScript(kind, current, (response) => void send(response));
      scripts.add(script);
      void closed.then(() => scripts.delete(script));
      return (bytes) => void requests.push(script.take(bytes));
    },
  });
  return {
    requests,
    set: (type, values) => {
      resources.set(type, values);
      for (const script of scripts) script.push(TYPES[type]);
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}
