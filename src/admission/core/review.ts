import { isJsonObject } from "../../base/json-object.ts";

/** What an API server asks about one object. */
export interface AdmissionRequest {
  readonly uid: string;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  readonly resource: { readonly group: string; readonly version: string; readonly resource: string };
  readonly operation: string;
  /** Empty for objects of the whole cluster. */
  readonly namespace: string;
  /** Empty while the server has yet to generate one. */
  readonly name: string;
  readonly object: unknown;
  readonly isDryRun: boolean;
}

/** The answer of a reviewer. */
export type Verdict =
  | {
      readonly allowed: true;
      /** RFC 6902 operations; empty or absent: the object stays as it is. */
      readonly patch?: readonly object[];
      readonly warnings?: readonly string[];
    }
  | {
      readonly allowed: false;
      /** Shown by kubectl, and in the events of the controller that creates the object. */
      readonly message: string;
    };

export type ParsedReview =
  | { readonly apiVersion: string; readonly request: AdmissionRequest }
  /** Answered in the layout of v1beta1 without a version where the review does not name a known one. */
  | { readonly apiVersion: string | undefined; readonly uid: string; readonly problem: string };

const KIND = "AdmissionReview";
const VERSIONS: readonly unknown[] = ["admission.k8s.io/v1", "admission.k8s.io/v1beta1"];

/** Never throws: what cannot be understood becomes an answer that says why. */
export function parseReview(text: string): ParsedReview {
  let review: unknown;
  try {
    review = JSON.parse(text);
  } catch (failure) {
    return refused(`could not decode body: ${failure instanceof Error ? failure.message : String(failure)}`);
  }
  if (!isJsonObject(review)) return refused("could not decode body: it is not an object, expected an AdmissionReview");
  const { apiVersion, kind } = review;
  if (kind !== KIND || !VERSIONS.includes(apiVersion)) {
    const found = `${JSON.stringify(apiVersion ?? "")} ${JSON.stringify(kind ?? "")}`;
    return refused(`could not decode body: found ${found}, allowed are ${VERSIONS.join(" and ")} ${KIND}`);
  }
  const version = String(apiVersion);
  const { request } = review;
  if (!isJsonObject(request)) {
    return { apiVersion: version, uid: "", problem: "could not decode object: the review has no request" };
  }
  const { uid, operation, namespace, name, object, dryRun } = request;
  return {
    apiVersion: version,
    request: {
      uid: textOf(uid),
      kind: { group: "", version: "", kind: "", ...texts(request.kind) },
      resource: { group: "", version: "", resource: "", ...texts(request.resource) },
      operation: textOf(operation),
      namespace: textOf(namespace),
      name: textOf(name),
      object,
      isDryRun: dryRun === true,
    },
  };
}

/** The body of the answer: version, kind and uid are those of the review. */
export function buildAnswer(review: ParsedReview, verdict: Verdict): string {
  const uid = "request" in review ? review.request.uid : review.uid;
  const type = review.apiVersion === undefined ? {} : { apiVersion: review.apiVersion, kind: KIND };
  return JSON.stringify({ ...type, response: { uid, ...responseOf(verdict) } });
}

function responseOf(verdict: Verdict): object {
  if (!verdict.allowed) return { allowed: false, status: { metadata: {}, message: verdict.message } };
  const { patch = [], warnings = [] } = verdict;
  return {
    allowed: true,
    ...(patch.length > 0 && {
      patchType: "JSONPatch",
      patch: Buffer.from(JSON.stringify(patch)).toString("base64"),
    }),
    ...(warnings.length > 0 && { warnings }),
  };
}

function refused(problem: string): ParsedReview {
  return { apiVersion: undefined, uid: "", problem };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

function texts(value: unknown): Readonly<Record<string, string>> {
  const entries = Object.entries(isJsonObject(value) ? value : {});
  return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
}
