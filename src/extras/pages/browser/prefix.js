/** Below which path this server is: "" at the root. Not in the addresses that the server writes into pages, which have it. */
export const prefix = document.documentElement.dataset.prefix ?? "";
