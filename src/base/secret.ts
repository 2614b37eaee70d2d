import { inspect } from "node:util";

const REDACTED = "[redacted]";

/** A value that never shows itself in logs, JSON, templates or a debugger's print; `reveal` is the one way to read it. */
export class Secret<Value = string> {
  readonly #value: Value;

  constructor(value: Value) {
    this.#value = value;
  }

  reveal(): Value {
    return this.#value;
  }

  toString(): string {
    return REDACTED;
  }

  toJSON(): string {
    return REDACTED;
  }

  [inspect.custom](): string {
    return REDACTED;
  }
}
