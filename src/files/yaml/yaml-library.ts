/**
 * The YAML library behind a module of our own, so that a dynamic import of it has named exports after bundling too: a bundler gives a
 * CommonJS package that is imported dynamically a default export only.
 */
export { parseAllDocuments } from "yaml";
