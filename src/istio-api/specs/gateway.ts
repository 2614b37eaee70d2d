import { type Infer, list, map, message, string, uint32 } from "../schema/schema.ts";
import { SERVER_TLS } from "./common.ts";

const SERVER = message("server", {
  name: string,
  port: message("server port", { number: uint32, protocol: string, name: string, targetPort: uint32 }),
  bind: string,
  hosts: list(string),
  tls: SERVER_TLS,
  defaultEndpoint: string,
});
export interface GatewayServer extends Infer<typeof SERVER> {}

export const GATEWAY = message("gateway", { servers: list(SERVER), selector: map(string) });
export interface GatewaySpec extends Infer<typeof GATEWAY> {}
