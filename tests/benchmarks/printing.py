"""Printing of a figure."""


def line(what: str, value: str, aim: str = "") -> None:
    print(f"  {what:<58} {value:>24}   {f'aim: {aim}' if aim else ''}".rstrip(), flush=True)
