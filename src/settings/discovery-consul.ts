import { Secret } from "../base/secret.ts";
import type { ConsulSettings } from "./discovery-settings.ts";
import type { Environment } from "./env-reader.ts";
import type { FlagValues } from "./flag-values.ts";

/** Flags, and the variables that Consul's own commands read. Throws with what is wrong and what is allowed. */
export function readConsulSettings(flags: FlagValues, environment: Environment): ConsulSettings {
  const text = (name: string): string => environment[name]?.trim() ?? "";
  const token = text("CONSUL_HTTP_TOKEN");
  const tokenFile = text("CONSUL_HTTP_TOKEN_FILE");
  const [ca, certificate, key] = [text("CONSUL_CACERT"), text("CONSUL_CLIENT_CERT"), text("CONSUL_CLIENT_KEY")];
  if ((certificate === "") !== (key === ""))
    throw new Error("CONSUL_CLIENT_CERT and CONSUL_CLIENT_KEY belong together: give both or none");
  const [serverName, namespace] = [text("CONSUL_TLS_SERVER_NAME"), text("CONSUL_NAMESPACE")];
  const rulesPrefix = flags.string("consulRulesPrefix").replace(/^\/+/, "");
  return {
    url: consulUrl(flags.string("consulserverURL") || text("CONSUL_HTTP_ADDR"), text("CONSUL_HTTP_SSL") === "true"),
    ...(token !== "" && { token: new Secret(token) }),
    ...(tokenFile !== "" && { tokenFile }),
    ...(ca + certificate !== "" && {
      tlsFiles: { ...(ca !== "" && { ca }), ...(certificate !== "" && { certificate, key }) },
    }),
    ...(serverName !== "" && { serverName }),
    ...(namespace !== "" && { namespace }),
    ...(rulesPrefix !== "" && { rulesPrefix }),
    datacenters: flags.stringArray("consulDatacenters").flatMap((words) => words.split(",").filter(Boolean)),
  };
}

function consulUrl(given: string, isTls: boolean): string {
  const text = given === "" ? "127.0.0.1:8500" : given;
  const full = /^[a-z]+:\/\//i.test(text) ? text : `${isTls ? "https" : "http"}://${text}`;
  if (/^https?:\/\//i.test(full) && URL.canParse(full)) return full;
  throw new Error(`the address of Consul is ${JSON.stringify(given)}, expected http://HOST:PORT or https://HOST:PORT`);
}
