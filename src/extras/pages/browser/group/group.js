/** The page of a group. */

import { follow } from "../ticket/ticket.js";
import { groupWords } from "./group-words.ts";

follow({ wordsOf: groupWords });
