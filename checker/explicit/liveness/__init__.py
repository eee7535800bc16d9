"""Liveness under fairness: the state graph, its fair components, and lassos as counterexamples."""
