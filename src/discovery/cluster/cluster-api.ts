import type { ApiObject } from "../../kubernetes/index.ts";

/** A kind of object as the API's paths name it. */
export interface ApiResource {
  /** Empty for the core group. */
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly namespace?: string;
}

/** Requests to one API server. They reject with a coded error: `not-found`, `already-exists`, `conflict`, `forbidden` ... */
export interface ClusterApi {
  get(resource: ApiResource, name: string, signal?: AbortSignal): Promise<ApiObject>;
  create(
    resource: ApiResource,
    object: object,
    options?: { readonly signal?: AbortSignal | undefined; readonly isDryRun?: boolean },
  ): Promise<ApiObject>;
  update(resource: ApiResource, object: ApiObject): Promise<ApiObject>;
  patch(
    resource: ApiResource,
    name: string,
    body: unknown,
    options: { readonly type: "merge" | "json"; readonly subresource?: string; readonly fieldManager?: string },
  ): Promise<ApiObject>;
  /** Only the object of that uid and version, where they are given: else it rejects with `conflict`. */
  delete(
    resource: ApiResource,
    name: string,
    options?: { readonly uid?: string; readonly resourceVersion?: string },
  ): Promise<void>;
}
