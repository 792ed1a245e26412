"""
Which ops compute in which float type.

    precision.py --policy.py, keep_list.py--> which ops --retype.py, constants.py--> casts and constants

schema.py says what ONNX lets an operator take. An op's results get their new type in place: nothing is made anew but
casts, one a value, and constants.
"""
