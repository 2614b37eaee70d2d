export { EnvoyBinaryError, ENVOY_RELEASE, findEnvoy } from "./binary/index.ts";
