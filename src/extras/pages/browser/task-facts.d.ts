/** The module that assets.ts makes of src/task-record.ts. */
export { FACTS, type Fact, TASK_FACTS } from "../../../task-record.ts";
