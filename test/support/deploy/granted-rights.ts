import type { Manifest } from "../kubernetes/apply-objects.ts";

interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly verbs: readonly string[];
}

/** Every verb and resource that the rules of a Role or ClusterRole grant, as "verb resource[.group]". */
export function grantedRights(role: Manifest): readonly string[] {
  return (role.rules as readonly PolicyRule[]).flatMap(({ apiGroups, resources, verbs }) =>
    apiGroups.flatMap((group) =>
      resources.flatMap((resource) =>
        verbs.map((verb) => `${verb} ${group === "" ? resource : `${resource}.${group}`}`),
      ),
    ),
  );
}
