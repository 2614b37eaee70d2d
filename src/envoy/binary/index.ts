export { cachedEnvoyPath, type FindEnvoyOptions, findEnvoy } from "./find-envoy.ts";
export { EnvoyBinaryError } from "./install-envoy.ts";
export { ENVOY_RELEASE } from "./release.ts";
