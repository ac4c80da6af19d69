/** A text of a Compose file with its variables replaced by their defaults, as Compose does where none of them is set. */
export const withDefaults = (text: string): string => text.replaceAll(/\$\{\w+:-([^}]*)\}/g, "$1");
