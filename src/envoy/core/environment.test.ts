import { expect, test } from "vitest";
import { envoyEnvironment } from "./environment.ts";

const env = {
  PATH: "/bin",
  TZ: "UTC",
  LC_ALL: "C",
  AWS_REGION: "r",
  OTEL_SERVICE_NAME: "s",
  GRPC_VERBOSITY: "debug",
  ISTIO_META_CLUSTER_ID: "c",
  CA_TOKEN: "secret",
  DATABASE_PASSWORD: "secret",
  EDGE_ONE: "1",
  EDGE_TWO: "2",
  PATHS: "no",
};
const always = ["PATH", "TZ", "LC_ALL", "AWS_REGION", "OTEL_SERVICE_NAME", "GRPC_VERBOSITY", "ISTIO_META_CLUSTER_ID"];

test.each([
  { more: [], added: [] },
  { more: ["EDGE_ONE"], added: ["EDGE_ONE"] },
  { more: ["EDGE_*"], added: ["EDGE_ONE", "EDGE_TWO"] },
  { more: ["*"], added: ["CA_TOKEN", "DATABASE_PASSWORD", "EDGE_ONE", "EDGE_TWO", "PATHS"] },
])("Envoy gets what it and its extensions read, and $more", ({ more, added }) => {
  expect(Object.keys(envoyEnvironment(env, more))).toEqual([...always, ...added]);
});
