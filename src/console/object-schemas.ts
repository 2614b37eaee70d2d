import { ruleDefinitions } from "../istio-api/definitions/rule-definitions.ts";
import { HttpError } from "../net/http-server/http-types.ts";
import type { ObjectSchema, SchemaList } from "./api.ts";

/** Kinds that the editor completes. */
export function listSchemas(): SchemaList {
  return {
    kinds: definitions().map(({ kind, apiVersion, schema }) => ({
      kind,
      apiVersion,
      ...(schema.description === undefined ? {} : { description: schema.description }),
    })),
  };
}

export function schemaOf(kind: string): ObjectSchema {
  const known = definitions();
  const found = known.find((each) => each.kind === kind);
  if (found !== undefined) return found;
  const names = known.map((each) => each.kind).join(", ");
  throw new HttpError(404, `kind ${JSON.stringify(kind)} is unknown, known are ${names}`);
}

/** Rule kinds with the schema of their newest version. */
function definitions(): readonly ObjectSchema[] {
  return ruleDefinitions().map(({ spec }) => {
    const newest = spec.versions.find(({ storage }) => storage) ?? spec.versions[0];
    const kind = String(spec.names.kind);
    return {
      kind,
      apiVersion: `${spec.group}/${newest?.name ?? "v1"}`,
      schema: (newest?.schema.openAPIV3Schema ?? {}) as ObjectSchema["schema"],
    };
  });
}
