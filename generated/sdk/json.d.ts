/** The value of a JSON text; undefined when it is something else. */
export declare function jsonOf(text: string): unknown;
