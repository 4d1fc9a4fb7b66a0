"""The arguments of the scripts of this folder."""
import argparse


def arguments(others=False, **options):
    """--build and these: an option with its default, one of a type without a default, or (False) a flag. `others`:
    further ones are ignored."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    for name, value in options.items():
        if value is False:
            parser.add_argument(f"--{name}", action="store_true")
        elif isinstance(value, type):
            parser.add_argument(f"--{name}", type=value)
        else:
            parser.add_argument(f"--{name}", type=type(value), default=value)
    return parser.parse_known_args()[0] if others else parser.parse_args()
