/** Keys of token issuers that are somewhere else. */

export { type KeyChange, type KeyStore, type KeyStoreOptions, startKeyStore } from "./start-key-store.ts";
