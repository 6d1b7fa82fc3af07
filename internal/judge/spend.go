package judge

// Spend takes out of the budget what the run spent before it was interrupted.
func (b *Budget) Spend(u Usage) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls += u.Calls
	b.tokens += u.PromptTokens + u.CompletionTokens
}
