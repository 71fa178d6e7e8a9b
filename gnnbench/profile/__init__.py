"""Why a benchmark takes as long as it does."""
