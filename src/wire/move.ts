import { z } from "zod";
import { LONGEST_DELAY_S, PRIORITY } from "../task.ts";
import { msOf, RFC3339_EXPECTED } from "./submit-options.ts";

const members = {
  priority: z.int().min(PRIORITY.most).max(PRIORITY.least).exactOptional().describe("0 is the most urgent."),
  place: z.enum(["first", "last"]).exactOptional().describe("The start or the end of the line."),
  delay: z.number().min(0).max(LONGEST_DELAY_S).exactOptional().describe("Seconds before the task joins the line."),
  notBefore: z
    .string()
    .refine((time) => msOf(time) !== undefined, { error: `expected ${RFC3339_EXPECTED}` })
    .exactOptional()
    .meta({ format: "date-time", description: "The earliest time at which the task joins the line." }),
};

/** Where a task that waits is moved: exactly one member. */
export const moveBody = z
  .strictObject(members)
  .refine((given) => Object.keys(given).length === 1, {
    error: `expected exactly one of ${Object.keys(members).join(", ")}`,
  })
  .meta({ minProperties: 1, maxProperties: 1 });
export type MoveBody = z.infer<typeof moveBody>;
