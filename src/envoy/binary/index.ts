export { EnvoyBinaryError } from "./envoy-binary-error.ts";
export { cachedEnvoyPath, type FindEnvoyOptions, findEnvoy } from "./find-envoy.ts";
export { ENVOY_RELEASE } from "./release.ts";
