/** What precedes the name of a message in the type URL of an Any. In a file of its own: it is needed where no codec is loaded. */
export const TYPE_PREFIX = "type.googleapis.com/";
