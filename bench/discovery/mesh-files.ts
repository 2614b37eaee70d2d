import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Services as files of a configuration directory: many in one file, and the ones that change in their own. */
export function writeServices(dir: string, count: number): void {
  replaceFile(
    join(dir, "services.yaml"),
    Array.from({ length: count - 1 }, (_, index) => service(index)).join("---\n"),
  );
  writeChanging(dir, "10.99.0.1");
}

/** One service whose only endpoint is the given one. */
export function writeChanging(dir: string, endpoint: string): void {
  replaceFile(join(dir, "changing.yaml"), entry("changing", "10.98.0.1", endpoint));
}

export function writeNew(dir: string, name: string, index: number): void {
  replaceFile(join(dir, `${name}.yaml`), entry(name, `10.98.1.${index}`, `10.99.1.${index}`));
}

function service(index: number): string {
  const place = `${index >> 8}.${index & 255}`;
  return entry(`svc-${index}`, `10.96.${place}`, `10.50.${place}`);
}

function entry(name: string, vip: string, endpoint: string): string {
  return `apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: ${name}, namespace: default}
spec:
  hosts: [${name}.default.svc.cluster.local]
  addresses: [${vip}]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: 80, name: http, protocol: HTTP, targetPort: 8080}]
  endpoints: [{address: ${endpoint}, serviceAccount: ${name}, labels: {app: ${name}}}]
`;
}

/** In one step, so that nobody reads half of it. */
function replaceFile(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(`${path}.new`, text);
  renameSync(`${path}.new`, path);
}
