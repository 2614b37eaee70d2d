/** Where an image is, by the rules of container tools. */
export interface ImageReference {
  /** host[:port]. */
  readonly registry: string;
  readonly repository: string;
  /** "latest" when neither tag nor digest is named. */
  readonly tag: string;
  /** "sha256:..."; wins over the tag. */
  readonly digest: string | undefined;
}

const DOCKER_HUB = "index.docker.io";
const OCI_SCHEME = "oci://";
const REPOSITORY = /^[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*)*$/;
const TAG = /^\w[\w.-]{0,127}$/;
const DIGEST = /^[a-z0-9]+(?:[+._-][a-z0-9]+)*:[0-9a-f]{32,128}$/;
const REGISTRY = /^(?:[A-Za-z0-9](?:[A-Za-z0-9-.]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(?::\d{1,5})?$/;

/** The host and path of an oci address; a query or fragment is not a part of a reference. Undefined when it is none. */
export function parseOciUrl(url: string): ImageReference | undefined {
  if (!url.toLowerCase().startsWith(OCI_SCHEME)) return undefined;
  return parseImageReference(url.slice(OCI_SCHEME.length).replace(/[?#].*$/, ""));
}

export function parseImageReference(text: string): ImageReference | undefined {
  const [beforeDigest = "", digest, ...more] = text.split("@");
  if (more.length > 0 || (digest !== undefined && !DIGEST.test(digest))) return undefined;
  const slash = beforeDigest.lastIndexOf("/");
  const colon = beforeDigest.indexOf(":", slash + 1);
  const path = colon === -1 ? beforeDigest : beforeDigest.slice(0, colon);
  const tag = colon === -1 ? "latest" : beforeDigest.slice(colon + 1);
  if (!TAG.test(tag)) return undefined;
  const { registry, repository } = splitPath(path);
  if (!REGISTRY.test(registry) || repository.length > 255 || !REPOSITORY.test(repository)) return undefined;
  return { registry, repository, tag, digest };
}

/** The first part is a registry when it looks like a host; everything else lives on Docker Hub. */
function splitPath(path: string): { readonly registry: string; readonly repository: string } {
  const slash = path.indexOf("/");
  const first = path.slice(0, slash === -1 ? 0 : slash);
  const isHost = /[.:]/.test(first) || first === "localhost";
  const registry = !isHost || first === "docker.io" ? DOCKER_HUB : first;
  const repository = isHost ? path.slice(slash + 1) : path;
  const isOfficial = registry === DOCKER_HUB && !repository.includes("/");
  return { registry, repository: isOfficial ? `library/${repository}` : repository };
}

/** What all versions of a module have in common: the image without tag or digest, else the address itself. */
export function moduleName(url: string): string {
  const reference = parseOciUrl(url);
  return reference === undefined ? url : `${OCI_SCHEME}${reference.registry}/${reference.repository}`;
}
