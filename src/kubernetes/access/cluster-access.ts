import type { Secret } from "../../base/secret.ts";

/** Text given inline, or a file that is read again when it may have changed. */
export type Material = { readonly text: Secret } | { readonly file: string };

/** A program that gives credentials (client.authentication.k8s.io). */
export interface ExecPlugin {
  readonly apiVersion: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Beside the environment of this process. */
  readonly env: Readonly<Record<string, string>>;
  readonly installHint: string | undefined;
  readonly provideClusterInfo: boolean;
}

/** How requests say who sends them. */
export interface UserAccess {
  readonly token?: Material;
  readonly basic?: { readonly user: string; readonly password: Secret };
  readonly clientCertificate?: Material;
  readonly clientKey?: Material;
  readonly exec?: ExecPlugin;
  readonly impersonate?: Impersonation;
}

/** Another user that the API server is asked to act as. */
export interface Impersonation {
  readonly user: string;
  readonly uid?: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

/** One API server and one user of it. */
export interface ClusterAccess {
  /** For messages: the context, or "in-cluster". */
  readonly name: string;
  readonly server: URL;
  readonly ca?: Material;
  /** What the server's certificate must be for, instead of its address. */
  readonly serverName?: string;
  readonly isInsecure: boolean;
  readonly proxyUrl?: Secret;
  /** Of the context; "default" when it names none. */
  readonly namespace: string;
  readonly user: UserAccess;
}
