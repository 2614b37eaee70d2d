import type { InjectionRules } from "../rules.ts";

/** A label selector as the API has it. */
export interface Selector {
  readonly matchLabels?: Readonly<Record<string, string>>;
  readonly matchExpressions?: readonly Expression[];
}

type Expression =
  | { readonly key: string; readonly operator: "In" | "NotIn"; readonly values: readonly string[] }
  | { readonly key: string; readonly operator: "DoesNotExist" };

/** Which pods an entry is asked about: the beginning of its name, and the labels of namespace and pod. */
export interface EntryRule {
  readonly prefix: string;
  readonly namespaceSelector: Selector;
  readonly objectSelector: Selector;
}

const INJECT = "sidecar.istio.io/inject";
const REVISION = "istio.io/rev";
const NAMESPACE = "istio-injection";

const isIn = (key: string, ...values: readonly string[]): Expression => ({ key, operator: "In", values });
const isNotIn = (key: string, ...values: readonly string[]): Expression => ({ key, operator: "NotIn", values });
const isAbsent = (key: string): Expression => ({ key, operator: "DoesNotExist" });
const all = (...matchExpressions: readonly Expression[]): Selector => ({ matchExpressions });

export interface EntryOptions {
  /** Of namespaces and pods that name one: a revision or a tag. */
  readonly revision: string;
  /** Also what names no revision. */
  readonly isDefault: boolean;
  /** Also namespaces that say nothing. */
  readonly namespacesByDefault: boolean;
  readonly rules: Pick<InjectionRules, "ignoredNamespaces">;
}

/** No two of them match one pod. */
export function webhookEntries({
  revision,
  isDefault,
  namespacesByDefault,
  rules,
}: EntryOptions): readonly EntryRule[] {
  const always: readonly EntryRule[] = [
    {
      prefix: "rev.namespace.",
      namespaceSelector: all(isIn(REVISION, revision), isAbsent(NAMESPACE)),
      objectSelector: all(isNotIn(INJECT, "false")),
    },
    {
      prefix: "rev.object.",
      namespaceSelector: all(isAbsent(REVISION), isAbsent(NAMESPACE)),
      objectSelector: all(isNotIn(INJECT, "false"), isIn(REVISION, revision)),
    },
  ];
  if (!isDefault) return always;
  const forDefault: readonly EntryRule[] = [
    {
      prefix: "namespace.",
      namespaceSelector: all(isIn(NAMESPACE, "enabled")),
      objectSelector: all(isNotIn(INJECT, "false")),
    },
    {
      prefix: "object.",
      namespaceSelector: all(isAbsent(NAMESPACE), isAbsent(REVISION)),
      objectSelector: all(isIn(INJECT, "true"), isAbsent(REVISION)),
    },
  ];
  if (!namespacesByDefault) return [...always, ...forDefault];
  const auto: EntryRule = {
    prefix: "auto.",
    namespaceSelector: all(
      isAbsent(NAMESPACE),
      isAbsent(REVISION),
      isNotIn("kubernetes.io/metadata.name", ...rules.ignoredNamespaces),
    ),
    objectSelector: all(isAbsent(INJECT), isAbsent(REVISION)),
  };
  return [...always, ...forDefault, auto];
}

export interface LegacyEntryOptions {
  readonly revision: string;
  readonly namespacesByDefault: boolean;
  readonly systemNamespace: string;
  /** The pod's own label decides as well. */
  readonly selectsObjects: boolean;
}

/** The one entry of 1.7. */
export function legacyEntry(options: LegacyEntryOptions): EntryRule {
  const objectSelector = !options.selectsObjects
    ? {}
    : all(options.namespacesByDefault ? isNotIn(INJECT, "false") : isIn(INJECT, "true"));
  return { prefix: "", namespaceSelector: legacyNamespaces(options), objectSelector };
}

function legacyNamespaces({ revision, namespacesByDefault, systemNamespace }: LegacyEntryOptions): Selector {
  if (namespacesByDefault) {
    return all(
      isNotIn("name", systemNamespace),
      isNotIn(NAMESPACE, "disabled"),
      isAbsent("istio-env"),
      isAbsent(REVISION),
    );
  }
  if (revision !== "default") return all(isAbsent(NAMESPACE), isIn(REVISION, revision));
  return { matchLabels: { [NAMESPACE]: "enabled" } };
}
