import { until } from "../wait/until.ts";
import type { ApiConnection } from "./api-connection.ts";

/** An object as a manifest has it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string; readonly [member: string]: unknown };
  readonly status?: unknown;
  readonly [member: string]: unknown;
}

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

const AT_ONCE = 16;

/** Server-side apply of objects, and of their status where they have one, in order; neighbours of one kind go together. */
export async function applyObjects(connection: ApiConnection, objects: readonly Manifest[]): Promise<void> {
  const paths = new Map<string, string>();
  for (const group of neighbours(objects)) {
    await Promise.all(
      group.map(async (object) => {
        const path = await objectPath(connection, object, paths);
        const { status, ...rest } = object;
        await apply(connection, path, rest);
        if (object.kind === "CustomResourceDefinition") await untilEstablished(connection, path);
        if (status === undefined || object.kind === "CustomResourceDefinition") return;
        const { name, namespace } = object.metadata;
        const metadata = { name, ...(namespace !== undefined && { namespace }) };
        await apply(connection, `${path}/status`, {
          apiVersion: object.apiVersion,
          kind: object.kind,
          metadata,
          status,
        });
      }),
    );
  }
}

/** The path of an object in the API, by what the server says of its kind. */
export async function objectPath(
  connection: ApiConnection,
  { apiVersion, kind, metadata }: Pick<Manifest, "apiVersion" | "kind" | "metadata">,
  known = new Map<string, string>(),
): Promise<string> {
  const key = `${apiVersion}/${kind}`;
  if (!known.has(key)) known.set(key, await findResource(connection, apiVersion, kind));
  const [scope, plural] = (known.get(key) ?? "").split(" ");
  const root = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
  const folder = scope === "namespaced" ? `${root}/namespaces/${metadata.namespace ?? "default"}` : root;
  return `${folder}/${plural}/${metadata.name}`;
}

/** A kind whose definition was applied a moment ago is not served at once. */
async function findResource(connection: ApiConnection, apiVersion: string, kind: string): Promise<string> {
  const path = `${apiVersion.includes("/") ? "/apis" : "/api"}/${apiVersion}`;
  let found: Resource | undefined;
  await until(`the API server has ${apiVersion} ${kind}`, async () => {
    const { status, body } = await connection.ask({ path });
    if (status !== 200) return `${path}: ${status}`;
    const { resources } = JSON.parse(body) as { resources: Resource[] };
    found = resources.find((resource) => resource.kind === kind && !resource.name.includes("/"));
    return found !== undefined;
  });
  return `${found?.namespaced ? "namespaced" : "cluster"} ${found?.name}`;
}

async function apply(connection: ApiConnection, path: string, object: unknown): Promise<void> {
  await connection.json({
    method: "PATCH",
    path: `${path}?fieldManager=test&force=true`,
    body: object,
    contentType: "application/apply-patch+yaml",
  });
}

async function untilEstablished(connection: ApiConnection, path: string): Promise<void> {
  await until(`${path} is established`, async () => {
    const { status } = (await connection.json({ path })) as {
      status?: { conditions?: { type: string; status: string }[] };
    };
    return (status?.conditions ?? []).some(({ type, status: state }) => type === "Established" && state === "True");
  });
}

function neighbours(objects: readonly Manifest[]): Manifest[][] {
  const groups: Manifest[][] = [];
  for (const object of objects) {
    const last = groups.at(-1);
    if (last !== undefined && last.length < AT_ONCE && last[0]?.kind === object.kind) last.push(object);
    else groups.push([object]);
  }
  return groups;
}
