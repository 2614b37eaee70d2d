import type { Handle } from "../base/handle.ts";
import type { Logger } from "../base/logger.ts";
import type { ActionBook } from "./core/action-book.ts";
import type { ConsoleSources } from "./sources.ts";

/** Where consoles are looked for first. */
export const CONSOLE_PORT = 15_700;
export interface ConsoleOptions {
  /** Anything but a loopback address has to be asked for by the user. */
  readonly listen: { readonly host: string; readonly port: number };
  /** The next free one when it is taken; a port that the user has named is not replaced. */
  readonly takesNextPort: boolean;
  /** The page's files. */
  readonly pageFolder: string;
  readonly sources: ConsoleSources;
  /** Actions of an earlier run, and where those of this one are recorded. */
  readonly book: { read(): ActionBook; save(book: ActionBook): void };
  /** By default a random one. */
  readonly token?: string;
  /** How often agents are asked while somebody looks; two seconds when absent. */
  readonly intervalMs?: number;
  readonly now?: () => number;
  readonly log: Logger;
}

export interface Console extends Handle {
  /** Without the token: for whoever has a session. */
  readonly url: string;
  /** With the token: for its user alone. */
  readonly link: string;
}
