/** Body of every answer that is not 2xx. */
export interface ApiError {
  /** For people: what was wrong, and what is allowed. */
  readonly error: string;
  /** Where a text was refused: beside which line. */
  readonly problems?: readonly Problem[];
}

/** Something wrong, or worth a look, in a text or an object. */
export interface Problem {
  readonly severity: "error" | "warning" | "info";
  readonly message: string;
  /** `spec.http[0].timeout`; empty for the whole object. */
  readonly field?: string;
  /** Of the validation or of analyze (`IST0101`); absent where there is none. */
  readonly code?: string;
  /** Both from 1, in the text that the page shows or sent. */
  readonly line?: number;
  readonly column?: number;
  /** File and line where the object comes from, when it is a file. */
  readonly source?: FilePosition;
}

export interface FilePosition {
  readonly file: string;
  readonly line: number;
}
