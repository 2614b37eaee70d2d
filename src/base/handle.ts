/** Something that is running and that exactly one owner must stop. */
export interface Handle extends AsyncDisposable {
  /** Settles when the component ends by itself: resolved if clean, rejected with the cause. */
  readonly ended: Promise<void>;
  /** Idempotent. Resolves when no socket, timer or child process of the component is left. */
  stop(): Promise<void>;
}

/**
 * Completes a component's members into a handle. `stop` runs once, later calls share its result. A rejected `ended` that no owner
 * listens to is not an unhandled rejection: the owner may learn of it later or stop first.
 */
export function toHandle<Members extends { readonly ended: Promise<void>; stop(): Promise<void> }>(
  members: Members,
): Members & Handle {
  let stopping: Promise<void> | undefined;
  const stopOnce = members.stop.bind(members);
  const stop = () => {
    stopping ??= stopOnce();
    return stopping;
  };
  members.ended.catch(() => undefined);
  // Keeps accessors of the members alive, which a spread would freeze at their first value.
  return Object.defineProperties(members, {
    stop: { value: stop, enumerable: true },
    [Symbol.asyncDispose]: { value: stop },
  }) as Members & Handle;
}
