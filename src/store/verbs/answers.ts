/** A call that gets the same reply if it is sent again, as after a lost reply: see lua/answers.lua. */
export interface Call {
  /** Unique to this call: letters and digits. */
  readonly call: string;
}
