import { isMissingFile } from "../files/read-file.ts";
import { readTextLimitedSync } from "../files/read-file-sync.ts";
import { replaceFileSync } from "../files/replace-file.ts";
import { type ActionBook, EMPTY_BOOK } from "./core/action-book.ts";

/** The record of actions in a file, so that those that expire do, whichever console is there then. */
export function createActionFile(path: string): { read(): ActionBook; save(book: ActionBook): void } {
  return {
    read() {
      let text: string;
      try {
        text = readTextLimitedSync(path);
      } catch (thrown) {
        if (isMissingFile(thrown)) return EMPTY_BOOK;
        throw thrown;
      }
      try {
        const { actions, written } = JSON.parse(text) as Partial<ActionBook>;
        if (Array.isArray(actions) && Array.isArray(written)) return { actions, written };
      } catch {
        // It is always written whole: what cannot be read is not ours.
      }
      return EMPTY_BOOK;
    },
    save: (book) => replaceFileSync(path, `${JSON.stringify(book)}\n`, { mode: 0o600 }),
  };
}

/** Where nothing outlives the process: objects that were written go with it, too. */
export function createMemoryBook(): { read(): ActionBook; save(book: ActionBook): void } {
  return { read: () => EMPTY_BOOK, save: () => undefined };
}
