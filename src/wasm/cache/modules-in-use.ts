/** Which files the running proxy may open again: those of the last answer it got, by resource. */
export interface ModulesInUse {
  /** The stream's resource now uses that file; undefined: none. The signal is the stream's life. */
  note(stream: AbortSignal, resource: string, path: string | undefined): void;
  has(path: string): boolean;
}

/**
 * A proxy whose stream ended keeps its filters, and gets the same files named after it restarts without a control plane. So the files
 * of an ended stream count until a later stream has listed its own.
 */
export function trackModulesInUse(): ModulesInUse {
  const streams = new Map<AbortSignal, Map<string, string>>();
  return {
    note(stream, resource, path) {
      for (const other of streams.keys()) if (other !== stream && other.aborted) streams.delete(other);
      const files = streams.get(stream) ?? new Map<string, string>();
      streams.set(stream, files);
      if (path === undefined) files.delete(resource);
      else files.set(resource, path);
    },
    has(path) {
      for (const files of streams.values()) for (const used of files.values()) if (used === path) return true;
      return false;
    },
  };
}
