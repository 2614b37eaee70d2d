import { compareAge, type ObjectRef, objectKey } from "../istio-api/config-object.ts";
import type { Kind } from "../istio-api/kinds.ts";
import { snapshotWithout } from "../mesh-model/create-push-snapshot.ts";
import type { ProxyView } from "../mesh-model/push-snapshot.ts";

/** Content by part: what is compared. */
export type Looked = ReadonlyMap<string, string>;

/** What rule objects have to do with one part. */
export interface Effect {
  /** Kinds whose objects were tried out. */
  readonly kinds: ReadonlySet<string>;
  /** Kinds whose objects were not, or not all: the search was cut off. */
  readonly notTried: readonly RuleKind[];
  /** Without any one of them the part would be another. */
  readonly shapes: readonly ObjectRef[];
  /** Objects that say the same: without all of them the part would be another, without one of them not. */
  readonly agree: readonly ObjectRef[];
  /** Objects that would shape the part if others of their kind did not. */
  readonly overruled: readonly { readonly object: ObjectRef; readonly by: ObjectRef }[];
}

/** Rules that choose workloads of their namespace, or of all for those of the root namespace. */
export const WORKLOAD_RULES = [
  "Sidecar",
  "AuthorizationPolicy",
  "RequestAuthentication",
  "PeerAuthentication",
  "Telemetry",
  "EnvoyFilter",
  "WasmPlugin",
] as const satisfies readonly Kind[];

/** Rules that change what proxies are sent. What makes services is known by the services. */
export const RULES = [
  "VirtualService",
  "DestinationRule",
  "Gateway",
  ...WORKLOAD_RULES,
] as const satisfies readonly Kind[];

export type RuleKind = (typeof RULES)[number];

/** So many meshes are made for one part at most. */
const MAX_TRIALS = 4000;

interface Effects {
  /** The part with all objects. */
  now(part: string): string | undefined;
  of(part: string): Effect;
}

/**
 * Which objects a part of what the proxy is sent follows from: those without which it would be another. The mesh is made without some of
 * them, and by what was recorded when resources were made from it, only what asked about these is made again. Once it is late, no more is
 * tried out.
 */
export function effectsOn(view: ProxyView, look: (view: ProxyView) => Looked, isLate: () => boolean): Effects {
  const trials = createTrials(view, look);
  return {
    now: (part) => trials.without([], part),
    of: (part) => {
      const budget: Budget = { left: MAX_TRIALS, isLate };
      const kinds = new Set<string>();
      const notTried: RuleKind[] = [];
      const effects = RULES.flatMap((kind) => {
        const effect = effectOf(trials, part, view.snapshot.configs.list(kind).toSorted(compareAge), budget);
        if (hasMore(budget)) kinds.add(kind);
        else notTried.push(kind);
        return effect;
      });
      return {
        kinds,
        notTried,
        shapes: effects.flatMap(({ shapes }) => shapes),
        agree: effects.flatMap(({ agree }) => agree),
        overruled: effects.flatMap(({ overruled }) => overruled),
      };
    },
  };
}

interface Trials {
  /** The part in the mesh without these objects. */
  without(objects: readonly ObjectRef[], part: string): string | undefined;
}

function createTrials(view: ProxyView, look: (view: ProxyView) => Looked): Trials {
  const known = new Map<string, Looked>();
  return {
    without(objects, part) {
      const left = new Set(objects.map(objectKey));
      const key = [...left].sort().join(" ");
      let looked = known.get(key);
      if (looked === undefined) {
        looked = look(left.size === 0 ? view : snapshotWithout(view.snapshot, left).view(view.node));
        known.set(key, looked);
      }
      return looked.get(part);
    },
  };
}

interface Budget {
  left: number;
  readonly isLate: () => boolean;
}

function hasMore({ left, isLate }: Budget): boolean {
  return left >= 0 && !isLate();
}

interface Search {
  readonly trials: Trials;
  readonly part: string;
  readonly budget: Budget;
}

/** Objects of one kind. */
function effectOf(
  trials: Trials,
  part: string,
  objects: readonly ObjectRef[],
  budget: Budget,
): Omit<Effect, "kinds" | "notTried"> {
  const search = { trials, part, budget };
  const { single: shapes, joint: agree } = find(search, objects, []);
  const winners = [...shapes, ...agree];
  if (winners.length === 0) return { shapes, agree, overruled: [] };
  const others = objects.filter((object) => !winners.includes(object));
  const next = others.length === 0 ? NONE : find(search, others, winners);
  const overruled = [...next.single, ...next.joint].map((object) => ({
    object,
    by: winners.length === 1 ? winners[0] : winners.find((one) => find(search, [object], [one]).single.length > 0),
  }));
  return { shapes, agree, overruled: overruled.map(({ object, by = winners[0] as ObjectRef }) => ({ object, by })) };
}

interface Found {
  readonly single: readonly ObjectRef[];
  readonly joint: readonly ObjectRef[];
}

const NONE: Found = { single: [], joint: [] };

/** So many are tried out one by one. More are halved, and halves that change nothing together are not looked into. */
const FEW = 32;

/** Objects without which the part is another than it is without `gone`. */
function find(search: Search, objects: readonly ObjectRef[], gone: readonly ObjectRef[]): Found {
  const { trials, part, budget } = search;
  const isOther = (left: readonly ObjectRef[]) => {
    budget.left -= 1;
    return hasMore(budget) && trials.without([...gone, ...left], part) !== trials.without(gone, part);
  };
  if (objects.length <= FEW) {
    // One by one also where all together change nothing: one may say what would be without any.
    const single = objects.filter((object) => isOther([object]));
    if (single.length > 0 || objects.length < 2) return { single, joint: [] };
  }
  if (!isOther(objects)) return NONE;
  const middle = Math.ceil(objects.length / 2);
  const halves = [objects.slice(0, middle), objects.slice(middle)] as const;
  if (objects.length > FEW) {
    const [first, second] = halves.map((half) => find(search, half, gone)) as [Found, Found];
    const found = { single: [...first.single, ...second.single], joint: [...first.joint, ...second.joint] };
    if (found.single.length + found.joint.length > 0) return found;
  }
  // Each half says what the other says as well.
  const parts = [find(search, halves[1], [...gone, ...halves[0]]), find(search, halves[0], [...gone, ...halves[1]])];
  return { single: [], joint: parts.flatMap(({ single, joint }) => [...single, ...joint]) };
}
