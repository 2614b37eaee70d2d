import { CodedError } from "../../base/coded-error.ts";

export class StoreError extends CodedError<"directory-unreadable"> {}
