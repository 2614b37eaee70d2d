import { errorMessage } from "../../base/coded-error.ts";
import { type ObjectName, objectOf, type Service } from "../../mesh-model/service.ts";

/**
 * Runs what makes one part of a resource: a part that cannot be made is undefined, and the rest goes on without it. `of` is the service or
 * object that it is made of.
 */
export type Attempt = <Made>(subject: string, make: () => Made, of?: Service | ObjectName) => Made | undefined;

/** Without anybody to tell: what cannot be made fails the whole. */
export const plainly: Attempt = (_subject, make) => make();

/**
 * What is made of all items. Where that fails, of those that it does not fail on: each is tried alone, and one that fails is reported and
 * left out. What fails only together fails the whole.
 */
export function leavingOut<Item, Made>(
  items: readonly Item[],
  make: (items: readonly Item[]) => Made,
  onFailure: (item: Item, thrown: unknown) => void,
): Made {
  try {
    return make(items);
  } catch (whole) {
    const good = items.filter((item) => {
      try {
        make([item]);
        return true;
      } catch (thrown) {
        onFailure(item, thrown);
        return false;
      }
    });
    if (good.length === items.length) throw whole;
    return make(good);
  }
}

/** An object without which the rest is made, and why. */
export interface FailedObject {
  readonly object: ObjectName;
  readonly reason: string;
}

/** What is made of objects; those that it fails on are left out, and named beside it. */
export function withoutFailing<Of extends ObjectName, Made>(
  objects: readonly Of[],
  make: (objects: readonly Of[]) => Made,
): { readonly made: Made; readonly failed: readonly FailedObject[] } {
  const failed: FailedObject[] = [];
  const made = leavingOut(objects, make, (object, thrown) => {
    const reason = `${describeFailure(thrown, object).reason}: it cannot be read, and has no effect`;
    failed.push({ object: nameOf(object), reason });
  });
  return { made, failed };
}

/** Something cannot be made because of the object. */
class ObjectFailure extends Error {
  readonly object: ObjectName;

  constructor(object: ObjectName, cause: unknown) {
    super(`${object.kind} ${object.namespace}/${object.name}: ${errorMessage(cause)}`, { cause });
    this.object = object;
  }
}

/** A failure inside is one of the object; where parts of it are made of objects of their own, those are named instead. */
export function madeOf<Made>(object: ObjectName, make: () => Made): Made {
  try {
    return make();
  } catch (thrown) {
    throw thrown instanceof ObjectFailure ? thrown : new ObjectFailure(nameOf(object), thrown);
  }
}

/** Why something could not be made, and of which object: that of the innermost part, else the one that the whole is made of. */
export function describeFailure(thrown: unknown, of: Service | ObjectName | undefined) {
  if (thrown instanceof ObjectFailure) return { reason: errorMessage(thrown.cause), object: thrown.object };
  return { reason: errorMessage(thrown), ...(of && { object: "hostname" in of ? objectOf(of) : nameOf(of) }) };
}

function nameOf({ kind, namespace, name }: ObjectName): ObjectName {
  return { kind, namespace, name };
}
