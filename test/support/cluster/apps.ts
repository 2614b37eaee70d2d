import type { Manifest } from "../kubernetes/apply-objects.ts";

export const NAMESPACE = "shop";

/**
 * A program of a few lines: says who answered and what it was asked with, is ready under /healthz, and with /call?url= asks others. Runs on
 * the Node of the agent's image. After SIGTERM it serves for a while, as callers learn of it a moment later, and lets requests finish.
 */
const PROGRAM = `
const http = require("node:http");
const agent = new http.Agent({ keepAlive: true });
const ask = (url) => new Promise((done) => {
  const started = Date.now();
  const request = http.get(url, { agent, timeout: 15000 }, (answer) => {
    let body = "";
    answer.on("data", (chunk) => (body += chunk));
    answer.on("end", () => done({ status: answer.statusCode, ms: Date.now() - started, body }));
  });
  request.on("timeout", () => request.destroy(new Error("timeout")));
  request.on("error", (failure) => done({ status: 0, ms: Date.now() - started, body: String(failure.code || failure) }));
});
const server = http.createServer(async (request, response) => {
  const url = new URL(request.url, "http://localhost");
  if (url.pathname === "/call") return response.end(JSON.stringify(await ask(url.searchParams.get("url"))));
  if (url.pathname === "/slow") await new Promise((done) => setTimeout(done, Number(url.searchParams.get("ms"))));
  if (url.pathname === "/metrics") return response.end("# TYPE app_requests counter\\napp_requests 7\\n");
  response.end(JSON.stringify({ pod: process.env.POD_NAME, version: process.env.VERSION, path: url.pathname, headers: request.headers }));
});
server.listen(8080);
process.on("SIGTERM", () => process.env.ENDS_AT_ONCE ? process.exit(0) : setTimeout(() => server.close(() => process.exit(0)), 3000));
`;

export interface AppOptions {
  readonly name: string;
  readonly image: string;
  /** Of the Service that selects it. */
  readonly app?: string;
  readonly version?: string;
  readonly replicas?: number;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly namespace?: string;
  /** On SIGTERM, with requests under way or not. */
  readonly endsAtOnce?: boolean;
}

/** A Deployment as any team would write it: nothing in it is of the mesh. */
export function appDeployment(options: AppOptions): Manifest {
  const { name, image, app = name, version = "v1", replicas = 1, annotations = {}, namespace = NAMESPACE } = options;
  const { endsAtOnce = false } = options;
  const labels = { app, version };
  const probe = { httpGet: { path: "/healthz", port: 8080 }, periodSeconds: 2 };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      strategy: { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } },
      template: {
        metadata: { labels, annotations },
        spec: {
          serviceAccountName: app,
          terminationGracePeriodSeconds: 30,
          containers: [
            {
              name: "app",
              image,
              imagePullPolicy: "Never",
              command: ["node", "-e", PROGRAM],
              // The image is the agent's: without this it would be the agent's user, whose traffic is not captured.
              securityContext: { runAsUser: 1000 },
              ports: [{ containerPort: 8080 }],
              env: [
                { name: "VERSION", value: version },
                ...(endsAtOnce ? [{ name: "ENDS_AT_ONCE", value: "yes" }] : []),
                { name: "POD_NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
              ],
              readinessProbe: probe,
              livenessProbe: { ...probe, failureThreshold: 10 },
            },
          ],
        },
      },
    },
  };
}

/** An account and a Service for the Deployments of an application. */
export function appObjects(app: string, namespace = NAMESPACE): Manifest[] {
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: app, namespace } },
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: app, namespace },
      spec: { selector: { app }, ports: [{ name: "http", port: 80, targetPort: 8080 }] },
    },
  ];
}

export function namespaceObject(name: string, labels: Readonly<Record<string, string>> = {}): Manifest {
  return { apiVersion: "v1", kind: "Namespace", metadata: { name, labels } };
}
