/** A summary of a conversation, as a text of the user in the place of the conversation. */
export function toSummaryText(summary: string): string {
  return `This is a summary of our conversation until now:\n\n${summary}`
}
