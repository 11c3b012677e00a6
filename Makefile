# The daily commands; CONTRIBUTING.md says more about each.
.PHONY: build fast test format tidy demo bench

build: build/dev
	cmake --build --preset dev

fast: build/dev
	cmake --build --preset dev --target fast_tests sluiced sluicectl
	ctest --preset dev -L fast

test:
	tools/test

format:
	tools/check-format --fix

tidy: build/dev
	cmake --build --preset dev
	tools/tidy

demo:
	tools/demo

bench:
	tools/bench $(DIRS)

build/dev:
	cmake --preset dev
