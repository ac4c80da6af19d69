const SPANS = new Map(Object.entries({ "1s": "a second", "1m": "a minute", "1h": "an hour", "1d": "a day" }));

/**
 * A rate for a person: "5 a second", "100 in 30s".
 * @param {{ max: number, per: string }} rate
 */
export const allowedOf = ({ max, per }) => `${max.toLocaleString("en")} ${SPANS.get(per) ?? `in ${per}`}`;
